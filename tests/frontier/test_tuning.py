"""RocksDB's options, some of which change when a frontier has become large."""

from __future__ import annotations

import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables import tuning
from rdfaspider.frontier.tables.database import Database, Family
from rdfaspider.frontier.views.reader import FrontierReader


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a frontier be large from a few hundred URLs on."""
    monkeypatch.setattr("rdfaspider.frontier.tables.database.MANY", 300)


def opened(path: Path) -> LocalFrontier:
    return LocalFrontier(str(path), politeness=Politeness(delay=0.0))


def put(frontier: LocalFrontier, start: int, end: int) -> None:
    frontier.put(f"http://h{number % 9}.test/{number}" for number in range(start, end))
    frontier.counts()  # which looks them up


def memory(frontier: LocalFrontier) -> int:
    """Return the megabytes of all write buffers together."""
    return frontier._database._memory.get_buffer_size() >> 20


def options(path: Path) -> dict[str, dict[str, str]]:
    """Return the options of each family, as RocksDB writes them down."""
    newest = max(path.glob("OPTIONS-*"), key=lambda file: int(file.name.rpartition("-")[2]))
    written = RawConfigParser(strict=False)
    written.read_string(newest.read_text())
    families = ((re.fullmatch(r'CFOptions "(\w+)"', name), name) for name in written.sections())
    return {match[1]: dict(written[name]) for match, name in families if match}


def merged(log: str) -> list[int]:
    """Return how many files of the first level of URLs each merge took."""
    return [int(files) for files in re.findall(r"\[urls\] .*Compacting (\d+)@0", log)]


def test_options_follow_the_urls(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        put(frontier, 0, 299)
        small = options(tmp_path)
        assert memory(frontier) == 64
        put(frontier, 299, 300)
        large = options(tmp_path)
        assert memory(frontier) == 128
    assert [small[name]["write_buffer_size"] for name in ("urls", "hosts")] == [
        "33554432",
        "16777216",
    ]
    for name in ("urls", "waiting"):
        small[name] |= {
            "write_buffer_size": "67108864",
            "level0_file_num_compaction_trigger": "8",
            "max_bytes_for_level_base": "100663296",
            "compression": "kLZ4Compression",
            "bottommost_compression": "kZSTD",
        }
    assert large == small


def test_a_large_frontier_is_opened_as_one(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        put(frontier, 0, 1000)
    Database(tmp_path).close()
    # Nobody has said yet how many there are.
    assert options(tmp_path)["urls"]["write_buffer_size"] == "33554432"
    with opened(tmp_path) as frontier:
        assert options(tmp_path)["urls"]["write_buffer_size"] == "67108864"
        assert memory(frontier) == 128


def test_nothing_is_lost_when_files_are_merged_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "_WRITE_BUFFER", 1 << 14)
    monkeypatch.setattr("rdfaspider.frontier.tables.database.MANY", 20_000)
    with opened(tmp_path) as frontier:
        for start in range(0, 40_000, 1_000):
            put(frontier, start, start + 1_000)
    log = (tmp_path / "LOG").read_text()
    before, change, after = log.partition("SetOptions() on column family [urls]")
    assert change
    assert min(merged(before)) < max(merged(after))
    with FrontierReader(str(tmp_path), delay=0.0) as reader:
        assert reader.counts().seen == 40_000
    with opened(tmp_path) as frontier:
        put(frontier, 0, 40_000)
        assert frontier.counts().seen == 40_000
        found = set()
        while (taken := frontier.take(0.0)) is not None:
            found.add(taken.url)
            frontier.finish(taken, "done", 0.0)
        assert len(found) == 40_000


def test_options_that_cannot_be_changed_end_the_crawl_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(family: Family, options: dict[str, str]) -> None:
        raise Exception("IO error: No space left on device")  # as rocksdict does

    frontier = opened(tmp_path)
    put(frontier, 0, 200)
    with monkeypatch.context() as patch:
        patch.setattr(Family, "change", fail)
        put(frontier, 200, 400)  # what is counted can be told though nothing can be written
        assert frontier.is_broken
        frontier._database.is_broken = False
        with pytest.raises(FrontierUnavailable, match="cannot be written: IO error: No space left"):
            frontier._database.fit(400)
    with pytest.raises(FrontierUnavailable, match="takes nothing more"):
        put(frontier, 400, 500)
    frontier.abandon()
    with opened(tmp_path) as frontier:
        assert frontier.counts().seen == 400
