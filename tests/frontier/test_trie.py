from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdfaspider.focus.visits.planner import Past
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.trie import KEPT, Record, Trie, cut, pack, unpack
from rdfaspider.urls.keys import parent_of, to_key, to_url

URLS = [
    "https://example.org/",
    "https://example.org/a",
    "https://example.org/a/",
    "https://example.org/a/1",
    "https://example.org/a/2",
    "https://example.org/ab",
    "https://example.org/b/c?x=1&y=2",
    "https://www.example.org/a",
    "https://example.com/",
]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "trie")
    yield opened
    opened.close()


def add(database: Database, trie: Trie, urls: list[str], first: int = 0) -> list[bytes]:
    keys = sorted({to_key(url) for url in urls})
    batch = database.batch()
    trie.add(batch, keys, [1] * len(keys), first)
    database.write(batch)
    return keys


@pytest.fixture
def trie(database: Database) -> Trie:
    trie = Trie(database)
    add(database, trie, URLS)
    return trie


def test_seen(trie: Trie) -> None:
    assert all(url in trie for url in URLS)
    assert "https://example.org/c" not in trie
    assert trie.record("https://example.org/c") is None


def test_numbers_lead_both_ways(trie: Trie) -> None:
    records = {url: trie.record(url) for url in URLS}
    numbers = {url: record.number for url, record in records.items() if record is not None}
    assert sorted(numbers.values()) == list(range(len(URLS)))
    for url, number in numbers.items():
        assert trie.url(number) == url
    with pytest.raises(IndexError):
        trie.url(len(URLS))


def test_a_subtree_has_the_keys_below_a_prefix(trie: Trie) -> None:
    assert len(list(trie.subtree())) == len(URLS)
    assert len(list(trie.subtree(b"org,example)/a/"))) == 3
    below = [to_url(key) for key, _ in trie.subtree(b"org,example,www)")]
    assert below == ["https://www.example.org/a"]
    assert list(trie.subtree(b"org,nobody)")) == []


def test_cuts() -> None:
    key = b"org,example)/a/b?q"
    steps = [key]
    while parent := parent_of(steps[-1]):
        steps.append(parent)
    assert steps == [
        b"org,example)/a/b?q",
        b"org,example)/a/b?",
        b"org,example)/a/",
        b"org,example)/",
        b"org,example)",
        b"org,",
    ]
    assert cut(key, 0) == b"org,"
    assert cut(key, 4) == b"org,example)"


@given(
    st.builds(
        Record,
        st.integers(0, KEPT - 1),
        *[st.integers(0, 255)] * 2,
        st.integers(0, 2**40 - 1),
        st.integers(0, 2**24 - 1),
        st.integers(0, 31),
        st.none(),  # only a kept page has a past
    ),
    st.builds(
        Past,
        st.integers(0, 2**32 - 1),
        *[st.integers(0, 255)] * 4,
        st.integers(0, 2**16 - 1),
    ),
)
def test_records_round_trip(record: Record, past: Past) -> None:
    assert unpack(pack(record)) == record
    kept = record._replace(state=KEPT, past=past)
    assert unpack(pack(kept)) == kept


@pytest.mark.parametrize("hint", [0, 70_000])
def test_a_kept_page_is_written_as_its_record_says(database: Database, hint: int) -> None:
    trie, batch = Trie(database), database.batch()
    past = Past(4_000_000_000, 1, 2, 3, 4, 40_000)
    trie.keep(batch, to_key(URLS[0]), 3, 2, (7 << 32) + 5, hint, 4, past)
    database.write(batch)
    assert trie.record(URLS[0]) == Record(KEPT, 3, 2, (7 << 32) + 5, hint, 4, past)


PATHS = st.lists(st.from_regex(r"(/[ab]{0,2}){1,4}(\?[ab]{1,2})?", fullmatch=True), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(PATHS, min_size=1, max_size=4))
def test_it_agrees_with_a_set(
    tmp_path_factory: pytest.TempPathFactory, waves: list[list[str]]
) -> None:
    database = Database(tmp_path_factory.mktemp("trie") / "trie")
    trie = Trie(database)
    model: dict[bytes, int] = {}
    for wave in waves:
        keys = {to_key(f"https://a.test{path}") for path in wave}
        new = sorted(keys - model.keys())
        assert [data is None for data in trie.records(sorted(keys))] == [
            key in new for key in sorted(keys)
        ]
        batch = database.batch()
        trie.add(batch, new, [0] * len(new), len(model))
        database.write(batch)
        model |= {key: number for number, key in enumerate(new, start=len(model))}
    assert {key: record.number for key, record in trie.subtree()} == model
    assert trie.keys(model.values()) == list(model)
    for prefix in {parent_of(key) for key in model}:
        below = [key for key in sorted(model) if key.startswith(prefix)]
        assert [key for key, _ in trie.subtree(prefix)] == below
    database.close()
