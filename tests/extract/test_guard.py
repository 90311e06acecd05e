from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import guard

ROWS = b"<tr><td>a<td>b<br><p>c" * 1000
LINKS = b"<ul>" + b'<li><A href="x"><b class=c>y</b></a>' * 2000 + b"</ul>"


@pytest.mark.parametrize(
    ("body", "tame"),
    [
        (b"<b id=1><div>" * 400, True),
        (b"<table>" + ROWS + b"</table>", True),
        (LINKS.replace(b"</a>", b"</a></li>"), True),
        (b"<div>" * 20_000 + b"</div>" * 20_000, False),
        (b"<li><dd>" * 20_000, False),
        (b"<option>" * 4_000, False),
        (b"".join(b"<b id=%d><div>" % n for n in range(2000)) + b"</b>" * 2000, False),
        (b"".join(b"</b><font size=%d>" % n for n in range(1000)) + b"<p>x" * 1000, False),
        (b"".join(b"<b id=%d><object></b></object><p>" % n for n in range(2000)), False),
    ],
)
def test_only_what_nests_well_is_tame(body: bytes, tame: bool) -> None:
    assert guard.is_tame(body.lower(), 1000) is tame


def test_a_page_without_long_tags_is_left_alone() -> None:
    body = b"<p a=b>" * 10_000
    assert guard.without_excess(body, 10) == (body, 0)


def test_attributes_beyond_the_limit_go() -> None:
    long = b"<P x=1 y='>' " + b"z=2 " * 5000 + b">text<b c=d>"
    assert guard.without_excess(long, 3) == (
        b"<P x=1 y='>' z=2>text<b c=d>".replace(b"=2>", b"=2 >"),
        1,
    )


@given(st.binary(max_size=200), st.integers(0, 3))
def test_nothing_else_is_changed(text: bytes, count: int) -> None:
    body = text.replace(b"<", b"").replace(b">", b"") * 100 + b"<i a=b>" * count
    assert guard.without_excess(body, 500) == (body, 0)
