"""The options of RocksDB, some of which change when a frontier has grown."""

from __future__ import annotations

import re
from configparser import RawConfigParser
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.database import Database
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


def buffers(path: Path) -> dict[str, int]:
    """Return the write buffers of the families, in MB, by what RocksDB says of its options."""
    newest = max(path.glob("OPTIONS-*"), key=lambda file: int(file.name.rpartition("-")[2]))
    options = RawConfigParser(strict=False)
    options.read_string(newest.read_text())
    found = {}
    for section in options.sections():
        if family := re.fullmatch(r'CFOptions "(\w+)"', section):
            found[family[1]] = int(options[section]["write_buffer_size"]) >> 20
    return found


def test_options_follow_the_urls(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        put(frontier, 0, 299)
        small = buffers(tmp_path)
        put(frontier, 299, 300)
        large = buffers(tmp_path)
    assert (small["urls"], small["waiting"], small["hosts"]) == (32, 32, 16)
    assert large == small | {"urls": 64, "waiting": 64}


def test_a_large_frontier_is_opened_as_one(tmp_path: Path) -> None:
    frontier = opened(tmp_path)
    put(frontier, 0, 1000)
    frontier.abandon()
    Database(tmp_path).close()
    assert buffers(tmp_path)["urls"] == 32  # nobody has said how many there are
    with opened(tmp_path) as frontier:
        assert buffers(tmp_path)["urls"] == 64
        put(frontier, 0, 1000)
        assert frontier.counts().seen == 1000
    with FrontierReader(str(tmp_path), delay=0.0) as reader:
        assert reader.counts().seen == 1000
