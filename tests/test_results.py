"""The tables of the papers in docs/results.md are those of docs/results.json, and can be measured again."""

from __future__ import annotations

import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.benchmarks.results import crawls, page, thesis, webs
from tests.benchmarks.results.__main__ import LONG, TABLES
from tests.benchmarks.results.tables import Table, machine

KEPT = page.read()


def test_the_page_is_written_from_the_data() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.with_section(text, KEPT) == text
    assert list(KEPT) == [name for name in TABLES if name in KEPT], "in the order of the papers"


def test_every_table_says_how_when_and_where_it_was_measured() -> None:
    assert set(LONG) < set(TABLES)
    assert set(KEPT) <= set(TABLES)
    for name, table in KEPT.items():
        assert table.command == f"python -m tests.benchmarks.results {name}"
        assert table.date
        assert "core" in table.machine
        assert all(len(row) == len(table.head) for row in table.rows)


@pytest.mark.parametrize("name", ["figures9-11", "table3", "table5"])
def test_what_does_not_depend_on_the_machine_is_as_it_was(name: str, tmp_path: Path) -> None:
    assert TABLES[name](tmp_path).rows == KEPT[name].rows


@pytest.mark.slow
def test_the_threshold_and_the_spread_of_the_queue_each_have_an_effect(tmp_path: Path) -> None:
    measured = thesis.table_2(tmp_path, slice(1, 2))
    assert measured.rows == KEPT["table2"].rows[1::4]
    even, uneven = (dict(zip(measured.head, row, strict=True)) for row in measured.rows)
    for row in (even, uneven):
        assert row["threshold and spread"] == row["expected"]
    assert float(even["threshold alone"]) > float(even["spread alone"])
    assert float(uneven["spread alone"]) > float(uneven["threshold alone"])


def test_the_pace_is_that_of_the_last_seconds() -> None:
    lines = [(57, 1_000), (58, 1_010), (59, 1_020), (60, 1_100), (62, 1_300)]
    log = "\n".join(
        f"23:{59 if s < 60 else 0:02}:{s % 60:02} INFO {n:,} pages  1.0/s  0 triples"
        for s, n in lines
    )
    log = log.replace("23:00:", "00:00:")
    assert crawls.steady_pace(log, 3) == (1_300 - 1_020) / 3
    with pytest.raises(RuntimeError, match="no progress"):
        crawls.steady_pace("")


def test_a_web_counts_what_it_is_asked() -> None:
    with webs.served({"http://a.test/": "page"}, 0.2) as web:
        proxied = urllib.request.build_opener(urllib.request.ProxyHandler({"http": web.url}))

        def ask(url: str) -> int:
            try:
                return int(proxied.open(url, timeout=30).status)
            except urllib.error.HTTPError as error:
                return error.code

        with ThreadPoolExecutor() as pool:
            found = list(
                pool.map(ask, ("http://a.test/", "http://b.test/", "http://c.test/robots.txt"))
            )
    assert found == [200, 404, 404]
    assert (web.asked, web.missed, web.most) == (2, 1, 3)


def test_a_table_replaces_its_predecessor_and_no_other(tmp_path: Path) -> None:
    data, text = tmp_path / "results.json", tmp_path / "results.md"
    text.write_text(f"before\n{page.BEGIN}\n{page.END}\nafter\n")
    order = ["one", "two"]

    def measured(number: int) -> Table:
        return Table(
            f"Title {number}", ["a", "b"], [["x", str(number)]], "How.", "make", "now", "m"
        )

    page.keep("two", measured(2), order, data, text)
    page.keep("one", measured(1), order, data, text)
    page.keep("two", measured(3), order, data, text)
    assert {name: table.rows[0][1] for name, table in page.read(data).items()} == {
        "one": "1",
        "two": "3",
    }
    written = text.read_text()
    assert written.startswith("before\n") and written.endswith("after\n")
    assert written.index("Title 1") < written.index("Title 3")
    assert "Title 2" not in written
    assert "|---|--:|\n| x | 3 |" in written


def test_the_machine_is_described_without_its_name() -> None:
    import platform

    assert platform.node() not in machine()
