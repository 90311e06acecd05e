"""The tables of the papers in docs/results.md are those of docs/results.json, and can be measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.results import page, thesis
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


@pytest.mark.parametrize("name", ["table3", "table5"])
def test_what_does_not_depend_on_the_machine_is_as_it_was(name: str, tmp_path: Path) -> None:
    assert TABLES[name](tmp_path).rows == KEPT[name].rows


@pytest.mark.slow
def test_the_queue_spreads_hosts_without_a_delay(tmp_path: Path) -> None:
    measured = thesis.table_2(tmp_path, slice(1, 2))
    assert measured.rows == KEPT["table2"].rows[1:2]
    *_, alone, neither = measured.rows[0]
    assert float(neither) > float(alone), "the threshold does the work"


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
