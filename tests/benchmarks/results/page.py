"""docs/results.json, and the section of docs/results.md that is made from it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from textwrap import fill

from tests.benchmarks.results.tables import PROJECT, Table

DATA = PROJECT / "docs" / "results.json"
PAGE = PROJECT / "docs" / "results.md"
BEGIN, END = "<!-- papers: begin -->", "<!-- papers: end -->"
INTRODUCTION = """
The numbers of the papers are beside ours. `make results` measures this section again in some
minutes, but for the tables that take longer, which `make bench` measures; what is not measured
again stays as it was, with its date. Table 1 of the thesis compares levels of RAID, so there is
nothing to measure. The machines of the papers were of their time, and their networks real: where
that matters, the text below a table says so. A load above the number of cores means that other work
ran beside it: look at the CPU time then.
"""


def read(path: Path = DATA) -> dict[str, Table]:
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: Table(**each) for name, each in data.items()}


def keep(name: str, table: Table, order: list[str], data: Path = DATA, page: Path = PAGE) -> None:
    """Put a table in the place of its predecessor, in both files."""
    tables = {**read(data), name: table}
    ordered = {each: tables[each] for each in order if each in tables}
    text = json.dumps(
        {each: asdict(one) for each, one in ordered.items()}, indent=1, ensure_ascii=False
    )
    data.write_text(text + "\n", encoding="utf-8")
    page.write_text(with_section(page.read_text(encoding="utf-8"), ordered), encoding="utf-8")


def with_section(page: str, tables: dict[str, Table]) -> str:
    """Return the page with the section between its marks made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = "\n".join(shown(table) for table in tables.values())
    return f"{before}{BEGIN}\n{INTRODUCTION}\n{body}\n{END}{after}"


def shown(table: Table) -> str:
    """Return a table as Markdown; numbers are to the right."""
    columns = list(zip(*table.rows, strict=True))
    bars = ["--:" if all(_is_number(cell) for cell in column) else "---" for column in columns]
    lines = [table.head, *table.rows]
    lines.insert(1, bars)
    marked = "\n".join(
        "|" + "|".join(cells) + "|" if cells is bars else f"| {' | '.join(cells)} |"
        for cells in lines
    )
    where = f"`{table.command}`, {table.date}: {table.machine}."
    text = fill(f"{table.note} {where}", 100, break_long_words=False, break_on_hyphens=False)
    return f"### {table.title}\n\n{marked}\n\n{text}\n"


def _is_number(cell: str) -> bool:
    return not cell or cell.strip("~%").replace(",", "").replace(".", "").isdecimal()
