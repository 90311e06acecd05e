from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rdfaspider.pipelines.writer import Writer
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.oxigraph import OxigraphStore


class Counting(Embedded):
    """Counts how many changes were written together."""

    def __init__(self, path: Path) -> None:
        super().__init__(OxigraphStore(str(path)))
        self.batches: list[int] = []

    def put(self, changes: Sequence[Change]) -> list[bool]:
        self.batches.append(len(changes))
        return super().put(changes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Counting]:
    with Counting(tmp_path) as store:
        yield store


def url(number: int) -> str:
    return f"http://a.test/{number}"


def change(number: int, name: str = "name") -> Change:
    return Change(url(number), f'<{url(number)}> <http://schema.org/name> "{name}" .\n'.encode(), 1)


def names(store: Embedded) -> set[tuple[str, str]]:
    store.load()
    return {(str(quad.subject)[1:-1], str(quad.object)[1:-1]) for quad in store.store.quads()}


async def put(writer: Writer, changes: list[Change]) -> list[list[bool] | BaseException]:
    tasks = [writer.put([change]) for change in changes]
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_changes_that_come_while_one_is_written_are_written_together(store: Counting) -> None:
    writer = Writer(store)
    assert asyncio.run(put(writer, [change(number) for number in range(50)])) == [[True]] * 50
    writer.close()
    assert store.batches == [1, 49]
    assert names(store) == {(url(number), "name") for number in range(50)}


def test_each_learns_whether_it_is_new(store: Counting) -> None:
    store.put([change(1, "old"), change(2)])
    writer = Writer(store)

    async def several() -> tuple[list[bool], list[bool]]:
        return await asyncio.gather(writer.put([change(0)]), writer.put([change(1), change(2)]))

    assert [*asyncio.run(several())] == [[True], [True, False]]
    writer.close()


class Failing(Counting):
    """Refuses a page, and panics at another, as Oxigraph does: by what is no Exception."""

    def put(self, changes: Sequence[Change]) -> list[bool]:
        graphs = [change.graph for change in changes]
        if url(1) in graphs:
            raise ValueError("not this one")
        if url(2) in graphs:
            raise KeyboardInterrupt("panic")
        return super().put(changes)


@pytest.mark.parametrize(("bad", "error"), [(1, ValueError), (2, OSError)])
def test_a_change_that_cannot_be_written_fails_alone(
    tmp_path: Path, bad: int, error: type[Exception]
) -> None:
    with Failing(tmp_path) as store:
        writer = Writer(store)
        tasks = put(writer, [change(bad), change(3), change(4)])
        first, *others = asyncio.run(asyncio.wait_for(tasks, 60))
        writer.close()
        assert isinstance(first, error)
        assert others == [[True], [True]]
        assert names(store) == {(url(3), "name"), (url(4), "name")}


def test_a_change_that_fails_among_others_fails_alone(tmp_path: Path) -> None:
    with Failing(tmp_path) as store:
        writer = Writer(store)
        first, second, third = asyncio.run(put(writer, [change(0), change(1), change(3)]))
        writer.close()
        assert (first, third) == ([True], [True])
        assert isinstance(second, ValueError)


def test_one_who_does_not_wait_for_his_page_holds_up_nobody(store: Counting) -> None:
    async def cancel_the_first(writer: Writer) -> list[bool]:
        first = asyncio.create_task(writer.put([change(0)]))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await writer.put([change(1)])

    writer = Writer(store)
    assert asyncio.run(cancel_the_first(writer)) == [True]
    writer.close()
    assert names(store) == {(url(0), "name"), (url(1), "name")}


def test_not_more_is_written_together_than_needs_to_be(store: Counting) -> None:
    writer = Writer(store)
    changes = [change(number, "x" * 400_000) for number in range(10)]
    assert asyncio.run(put(writer, changes)) == [[True]] * 10
    writer.close()
    assert store.batches == [1, 3, 3, 3]
