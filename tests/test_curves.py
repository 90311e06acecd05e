from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.curves import Panel, draw, short

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (999, "999"),
        (999.9, "1k"),
        (1_500, "1.5k"),
        (2e6, "2M"),
        (7e12, "7T"),
    ],
)
def test_a_number_is_short(number: float, text: str) -> None:
    assert short(number) == text


@given(st.floats(1e-6, 1e14), st.floats(1e-6, 1e14))
def test_axes_have_a_few_round_numbers_and_hold_the_curve(across: float, up: float) -> None:
    panel = Panel("title", "seconds", [[(0.0, 0.0), (across, up)]])
    root = ElementTree.fromstring(draw([panel], ["name"], ""))
    words = [str(text.text) for text in root.iter(f"{SVG}text")]
    numbers = [word for word in words if re.fullmatch(r"[\d.e-]+[kMGT]?", word)]
    assert 2 * 3 <= len(numbers) <= 2 * 6
    assert all(len(re.sub(r"e.*|\D", "", number).strip("0")) <= 2 for number in numbers)
    (curve,) = (line.attrib["points"] for line in root.iter(f"{SVG}polyline"))
    (left, bottom), (right, top) = (map(float, point.split(",")) for point in curve.split())
    assert (left, bottom, right) == (58.0, 224.0, 422.0)
    assert 28.0 <= top <= 28.0 + 196 / 2


def test_nothing_is_drawn_of_nothing() -> None:
    root = ElementTree.fromstring(draw([Panel("title", "seconds", [[]])], ["name"], ""))
    assert next(root.iter(f"{SVG}polyline")).attrib["points"] == ""


def test_names_that_do_not_fit_in_a_line_go_on_in_the_next() -> None:
    names = ["a" * 60, "b" * 60, "c"]
    root = ElementTree.fromstring(draw([], names, ""))
    places = [
        (float(text.attrib["x"]), float(text.attrib["y"]))
        for text in root.iter(f"{SVG}text")
        if text.text in names
    ]
    assert places[0][0] == places[1][0] < places[2][0]
    assert places[0][1] < places[1][1] == places[2][1] < float(root.attrib["height"])
