from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.pipelines.writer import Writer
from rdfaspider.stores.oxigraph import OxigraphStore


class Counting(OxigraphStore):
    """Counts how many graphs were written together."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.batches: list[int] = []

    def replace_all(self, graphs: Sequence[tuple[str, Sequence[Quad]]]) -> list[bool]:
        self.batches.append(len(graphs))
        return super().replace_all(graphs)


def url(number: int) -> str:
    return f"http://a.test/{number}"


def line(number: int, name: str = "name") -> bytes:
    return f'<{url(number)}> <http://schema.org/name> "{name}" <{url(number)}> .\n'.encode()


def names(store: OxigraphStore) -> set[tuple[str, str]]:
    return {(str(quad.subject)[1:-1], str(quad.object)[1:-1]) for quad in store.quads()}


async def replace(writer: Writer, pages: list[tuple[str, bytes]]) -> list[bool | BaseException]:
    tasks = [writer.replace(*page) for page in pages]
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_pages_that_come_while_one_is_written_are_written_together(tmp_path: Path) -> None:
    with Counting(str(tmp_path)) as store:
        writer = Writer(store)
        pages = [(url(number), line(number)) for number in range(50)]
        assert asyncio.run(replace(writer, pages)) == [True] * 50
        writer.close()
        assert store.batches == [1, 49]
        assert names(store) == {(url(number), "name") for number in range(50)}


def test_each_page_learns_whether_it_is_new(tmp_path: Path) -> None:
    with Counting(str(tmp_path)) as store:
        store.replace_all(
            [(url(1), [Quad(NamedNode(url(1)), NamedNode("http://s.test/"), Literal("old"))])]
        )
        writer = Writer(store)
        first = [(url(0), line(0)), (url(1), line(1)), (url(2), b"")]
        assert asyncio.run(replace(writer, first)) == [True, True, True]
        again = [(url(0), line(0)), (url(1), line(1, "changed")), (url(2), line(2)), (url(3), b"")]
        assert asyncio.run(replace(writer, again)) == [False, True, True, True]
        writer.close()


def test_a_page_that_comes_twice_at_once_is_what_it_was_last(tmp_path: Path) -> None:
    with Counting(str(tmp_path)) as store:
        writer = Writer(store)
        pages = [(url(0), line(0)), (url(1), line(1, "first")), (url(1), line(1, "second"))]
        assert asyncio.run(replace(writer, pages)) == [True, True, True]
        writer.close()
        assert names(store) == {(url(0), "name"), (url(1), "second")}


def test_a_page_that_cannot_be_written_fails_alone(tmp_path: Path) -> None:
    with Counting(str(tmp_path)) as store:
        writer = Writer(store)
        pages = [(url(0), line(0)), (url(1), line(1)), ("no IRI", line(2)), (url(3), b"<broken")]
        first, second, third, fourth = asyncio.run(replace(writer, pages))
        writer.close()
        assert (first, second) == (True, True)
        assert isinstance(third, ValueError)
        assert isinstance(fourth, SyntaxError)
        assert names(store) == {(url(0), "name"), (url(1), "name")}


class Panicking(Counting):
    """Fails as Oxigraph does when it panics: by what is no Exception."""

    def replace_all(self, graphs: Sequence[tuple[str, Sequence[Quad]]]) -> list[bool]:
        if any(graph == url(0) for graph, _ in graphs):
            raise KeyboardInterrupt("panic")
        return super().replace_all(graphs)


def test_a_panic_fails_its_pages_and_holds_up_nobody(tmp_path: Path) -> None:
    with Panicking(str(tmp_path)) as store:
        writer = Writer(store)
        first, second = asyncio.run(
            asyncio.wait_for(replace(writer, [(url(0), line(0)), (url(1), line(1))]), 5)
        )
        writer.close()
        assert isinstance(first, OSError)
        assert second is True


def test_one_who_does_not_wait_for_his_page_holds_up_nobody(tmp_path: Path) -> None:
    async def cancel_the_first(writer: Writer) -> bool:
        first = asyncio.create_task(writer.replace(url(0), line(0)))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await writer.replace(url(1), line(1))

    with Counting(str(tmp_path)) as store:
        writer = Writer(store)
        assert asyncio.run(cancel_the_first(writer))
        writer.close()
        assert names(store) == {(url(0), "name"), (url(1), "name")}


def test_a_transaction_is_not_larger_than_it_needs_to_be(tmp_path: Path) -> None:
    with Counting(str(tmp_path)) as store:
        writer = Writer(store)
        pages = [(url(number), line(number, "x" * 400_000)) for number in range(10)]
        assert asyncio.run(replace(writer, pages)) == [True] * 10
        writer.close()
        assert store.batches == [1, 3, 3, 3]
