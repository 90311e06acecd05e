from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from rdfaspider.report.charts import draw
from rdfaspider.report.html import csv_of, page
from rdfaspider.report.model import Figure, Section, Table

HOSTILE = "<script>alert(1)</script>\"'&]]>"


def figure(kind: Any = "points", **fields: Any) -> Figure:
    known: dict[str, Any] = {"names": ["a crawl"], "across": "links", "up": "pages"}
    return Figure("key", "A title", "A sentence.", kind, **(known | fields))


def places(svg: str) -> list[tuple[float, float]]:
    dots = re.findall(r'<circle [^>]*cx="([\d.]+)" cy="([\d.]+)"', svg)
    return [(float(x), float(y)) for x, y in dots]


def test_logarithmic_axes_have_equal_steps_for_equal_factors() -> None:
    points = [(1.0, 1_000.0), (10.0, 100.0), (100.0, 10.0), (1_000.0, 1.0)]
    found = places(draw(figure(points=[points], is_logarithmic=True)))
    across = [after[0] - before[0] for before, after in itertools.pairwise(found)]
    down = [after[1] - before[1] for before, after in itertools.pairwise(found)]
    assert across == pytest.approx([across[0]] * 3, abs=0.2)
    assert across[0] > 50
    assert down == pytest.approx([down[0]] * 3, abs=0.2)


def test_names_of_an_axis_stand_where_their_values_are() -> None:
    svg = draw(figure(points=[[(30.0, 5.0), (1_000.0, 5.0), (100.0, 5.0)]], is_logarithmic=True))
    (_, thousand, hundred) = places(svg)
    named = {text: float(x) for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)<', svg)}
    assert named["1k"] == pytest.approx(thousand[0], abs=0.2)
    assert named["100"] == pytest.approx(hundred[0], abs=0.2)
    assert named["10"] < named["100"]


def test_bars_are_as_long_as_their_values() -> None:
    svg = draw(figure("bars", labels=["one", "two", "none"], values=[[50.0, 100.0, 0.0]]))
    one, two, none = (float(width) for width in re.findall(r'<rect [^>]* width="([\d.]+)"', svg))
    assert one == pytest.approx(two / 2, abs=0.1)
    assert none < 1


def test_columns_end_where_the_axis_says() -> None:
    svg = draw(figure("columns", labels=["0", "1"], values=[[10.0, 5.0]]))
    ten, five = (float(height) for height in re.findall(r'<rect [^>]* height="([\d.]+)"', svg))
    assert five == pytest.approx(ten / 2, abs=0.1)


@pytest.mark.parametrize("kind", ["points", "lines", "bars", "columns"])
def test_a_mark_has_a_tip_with_its_exact_value(kind: str) -> None:
    fields: dict[str, Any] = {"points": [[(7.0, 12_345.0)]]}
    if kind in ("bars", "columns"):
        fields = {"labels": ["7"], "values": [[12_345.0]]}
    svg = draw(figure(kind, **fields))
    assert ElementTree.fromstring(svg).tag == "svg"
    if kind != "lines":
        assert "12,345" in svg


@pytest.mark.parametrize("kind", ["points", "lines", "bars", "columns"])
def test_text_from_the_web_is_only_text(kind: str) -> None:
    fields: dict[str, Any] = {"points": [[(7.0, 2.0)]], "names": [HOSTILE], "across": HOSTILE}
    if kind in ("bars", "columns"):
        fields |= {"labels": [HOSTILE], "values": [[1.0]]}
        del fields["points"]
    drawn = figure(kind, **fields)
    table = Table("table", HOSTILE, HOSTILE, [HOSTILE, "n"], [[HOSTILE, 1]])
    section = Section("section", HOSTILE, HOSTILE, [drawn, table], HOSTILE, [HOSTILE])
    text = page(HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], [section])
    assert "<script" not in text
    ElementTree.fromstring(draw(drawn))


def test_a_text_from_the_web_is_no_formula() -> None:
    assert csv_of([["=1+1", "+1", "@x", "-2", -2, 1.5, None]]) == "'=1+1,'+1,'@x,'-2,-2,1.5,\r\n"
    assert csv_of([["en\r=1+1", 3]]) == '"en\r=1+1",3\r\n'


def test_an_empty_figure_is_left_out() -> None:
    empty: list[Figure | Table] = [
        figure(points=[[], []], names=["a", "b"]),
        figure("bars"),
        Table("t", "t", "t", ["a"], []),
    ]
    section = Section("section", "A title", "A sentence.", empty)
    assert section.shown == []
    assert "<svg" not in page("", "", [], [section])
