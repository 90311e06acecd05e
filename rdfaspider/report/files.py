"""Writes a report: one HTML file, or a directory with the page, the numbers as JSON, CSV and N-Quads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rdfaspider.report.html import csv_of
from rdfaspider.report.model import Section
from rdfaspider.report.rdf import quads_of


def write(
    output: Path, page: str, found: Sequence[dict[str, Any]], sections: Sequence[Section]
) -> Path:
    """Write a report to a file `.html` or a directory; return the page."""
    if output.suffix == ".html":
        _replace(output, page)
        return output
    (output / "csv").mkdir(parents=True, exist_ok=True)
    for section in sections:
        for item in section.shown:
            _replace(output / "csv" / f"{item.key}.csv", csv_of(item.rows()))
    _replace(output / "report.nq", "".join(f"{quad} .\n" for quad in quads_of(found[0])))
    _replace(output / "report.json", json_of(found))
    _replace(output / "report.html", page)
    return output / "report.html"


def json_of(found: Sequence[dict[str, Any]]) -> str:
    """Return what was found as JSON."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8", errors="replace")
    new.replace(path)
