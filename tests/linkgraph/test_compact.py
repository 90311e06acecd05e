"""A graph is built whole, or not at all."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rdfaspider.linkgraph.compact import Compaction
from rdfaspider.linkgraph.edges import FOLLOW, pack, pack_rest
from rdfaspider.linkgraph.files.adjacency import Adjacency
from rdfaspider.linkgraph.files.arrays import create, write
from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.graph import Graph


class Pages:
    """Pages that link to each other, and to some pages by key."""

    size = 60

    def urls(self) -> Iterator[tuple[bytes, int, int, int]]:
        for number in range(self.size):
            yield b"test,a)/%03d" % number, number, 2, 0

    def pages(self) -> Iterator[tuple[int, bytes]]:
        for page in range(self.size):
            targets = [page * step % self.size for step in (2, 3, 7)]
            rest = pack_rest(
                {"image": 1}, {"b.test": 2}, [(FOLLOW, [b"test,a)/%03d" % (page // 2)])]
            )
            yield page, pack(page, FOLLOW, targets, rest)

    def numbers(self, keys: list[bytes]) -> list[int | None]:
        return [int(key[-3:]) for key in keys]


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let files be of at most this size, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def links_in(folder: Path) -> list[list[int]]:
    with Graph(folder) as graph:
        both = (graph.outward, graph.inward)
        return [each.row(page)[0].tolist() for each in both for page in range(graph.nodes)]


def test_a_full_disk_leaves_the_graph_of_before(tmp_path: Path) -> None:
    """Wherever it becomes full: most files are so small that they are written when they are closed."""
    folder = tmp_path / "graph"
    Compaction([Pages()], folder).run(stamp=0)
    expected = links_in(folder)
    outcomes = set()
    for size in range(0, 3000, 60):
        try:
            with files_up_to(size):
                Compaction([Pages()], folder).run(stamp=size)
            outcomes.add("built")
        except OSError:
            outcomes.add("failed")
        assert links_in(folder) == expected, size
        assert [path.name for path in tmp_path.iterdir()] == ["graph"], size
    assert outcomes == {"built", "failed"}


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(text: str) -> None:
        if "links written" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Compaction([Pages()], tmp_path / "graph", interrupt).run()
    assert not list(tmp_path.iterdir())


def test_arrays_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"), Path("/dev/full").open("wb") as file:
        write(file, np.arange(9))
    create(tmp_path / "ranks", np.arange(3.0))
    with files_up_to(20), pytest.raises(OSError, match="large"):
        create(tmp_path / "ranks", np.arange(4.0), np.arange(5.0)[::2])
    assert np.fromfile(tmp_path / "ranks").tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["ranks"]
    create(tmp_path / "ranks", np.arange(4.0), np.arange(5.0)[::2])
    assert np.fromfile(tmp_path / "ranks").tolist() == [0, 1, 2, 3, 0, 2, 4]


def test_rows_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    Compaction([Pages()], tmp_path / "graph").run()
    with (
        Adjacency(tmp_path / "graph" / "out.links") as links,
        files_up_to(100),
        pytest.raises(OSError, match="large"),
    ):
        Rows.expand(links, tmp_path / "rows")
