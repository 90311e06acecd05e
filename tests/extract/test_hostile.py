"""Pages that want to cost more than they are worth: all of them end, and say what was cut."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.extract import Limits, Options, extract
from tests.extract.samples import BOMB

URL = "http://site.example/"
HTML = "text/html"
XHTML = "application/xhtml+xml"
SECONDS = 10.0  # each takes under two on an idle core; a quadratic one takes minutes


def xhtml(subset: str, content: str) -> bytes:
    start = f'<!DOCTYPE html [{subset}]><html xmlns="http://www.w3.org/1999/xhtml">'
    return f'{start}<body property="dc:title">{content}</body></html>'.encode()


def laughs() -> str:
    lines = [f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9)]
    return '<!ENTITY l0 "ha">' + "".join(lines)


def patterns() -> bytes:
    circle = [
        f'<p resource="#p{n}" typeof="rdfa:Pattern"><a property="rdfa:copy" href="#p{(n + 1) % 300}">'
        f'</a><i property="dc:x{n}">v</i></p>'
        for n in range(300)
    ]
    uses = [f'<p about="#s{n}"><a property="rdfa:copy" href="#p0"></a></p>' for n in range(2000)]
    return "".join([*circle, *uses]).encode()


HOSTILE: dict[str, tuple[bytes, str, str]] = {
    "nested": (b"<div>" * 900_000, HTML, "tags"),
    "deep": (b'<div property="dc:title">' * 50_000, HTML, ""),
    "names of prefixes": (
        b"".join(b"xmlns:n%d " % n for n in range(20_000)) + b"<a href=x></a>" * 120_000,
        HTML,
        "elements",
    ),
    "roots": (b"".join(b"<html a%d><body b%d>" % (n, n) for n in range(100_000)), HTML, "roots"),
    "nested texts of nothing": (
        b'<div property="dc:title">' * 500 + b"<p>" * 499_000,
        HTML,
        "elements",
    ),
    "forms in tables": (b"<form><table></form></table></form>" * 100_000, HTML, ""),
    "misnested": (
        b"".join(b"<b id=%d><div>" % n for n in range(250)) + b"</b>" * 400_000,
        HTML,
        "",
    ),
    "names": (b"".join(b"<x%d y%d=#>" % (n, n) for n in range(200_000)), HTML, ""),
    "options": (b"<select>" + b"<option>" * 200_000, HTML, ""),
    "flat": (b'<i property="dc:title">x</i>' * 200_000, HTML, "body"),
    "attributes": (b"<p " + b" ".join(b"a%d=x" % n for n in range(100_000)), HTML, ""),
    "quoted ends": (b"<p " + b" ".join(b'a%d=">"' % n for n in range(99_999)), HTML, ""),
    "one long attribute": (b'<p property="dc:x" content="' + b"x" * 10_000_000, HTML, "body"),
    "long literal": (b'<p property="dc:x" content="' + b"x" * 2_000_000 + b'">', HTML, "literal"),
    "prefixes": (
        b'<p prefix="%s">' % b" ".join(b"p%d: http://e/" % n for n in range(100_000))
        + b'<b property="p1:x">y</b>' * 1000,
        HTML,
        "prefixes",
    ),
    "prefixes in small parts": (
        b"".join(b"<p prefix='p%d: http://e/' property='p1:x'></p>" % n for n in range(50_000)),
        HTML,
        "prefixes",
    ),
    "long names": (
        b'<p prefix="p: http://e/%s">' % (b"x" * 8000)
        + b"".join(b"<b property='p:%d'>y</b>" % n for n in range(50_000)),
        HTML,
        "output",
    ),
    "cross product": (
        b'<p rel="%s">' % b" ".join(b"dc:p%d" % n for n in range(5000))
        + b"".join(b'<b about="#%d"></b>' % n for n in range(5000)),
        HTML,
        "quads",
    ),
    "copying in a circle": (patterns(), HTML, "quads"),
    "nested literals": (b'<b property="dc:x">' * 900 + b"x" * 900_000, HTML, "output"),
    "nested XML literals": (
        b'<b property="dc:x" datatype="rdf:XMLLiteral">' * 900 + b"x" * 9_000,
        HTML,
        "",
    ),
    "lists": (b"<p property='dc:x' inlist>y</p>" * 100_000, HTML, "quads"),
    "laughs": (xhtml(laughs(), "&l9;"), XHTML, ""),
    "quadratic entity": (xhtml(f'<!ENTITY a "{"x" * 50_000}">', "&a;" * 20_000), XHTML, ""),
    "nested XML": (b"<a>" * 300_000, "application/xml", ""),
    "comments": (b"<!--" * 1_000_000, HTML, ""),
    "control characters": (bytes(range(256)) * 5000, HTML, ""),
    "unfinished tags": (b"<meta charset=" * 300_000, HTML, ""),
}


@pytest.mark.parametrize(("body", "content_type", "cut"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_page_ends_and_says_what_was_cut(body: bytes, content_type: str, cut: str) -> None:
    start = time.process_time()
    extraction = extract(body, URL, content_type)
    assert time.process_time() - start < SECONDS
    assert not cut or extraction.facts.cuts[cut]
    limits = Limits()
    assert len(extraction.quads) <= limits.quads
    assert sum(len(str(quad)) for quad in extraction.quads) < 2 * limits.output


def test_what_fits_is_kept_when_the_rest_is_cut() -> None:
    page = "".join(f'<p property="dc:x">{n}</p>' for n in range(100)).encode()
    extraction = extract(page, URL, options=Options(limits=Limits(quads=7)))
    assert [quad.object.value for quad in extraction.quads] == list("0123456")  # type: ignore[union-attr]
    assert extraction.facts.cuts == {"quads": 1}


def test_attributes_within_the_limit_are_kept() -> None:
    noise = " ".join(f'a{n}="{"x" * 50}"' for n in range(100))
    page = f'<p property="dc:x" {noise} content=">">'.encode()
    assert len(page) > 5_000
    assert extract(page, URL).quads[0].object.value == ">"  # type: ignore[union-attr]


def test_an_attribute_of_very_many_names_is_cut() -> None:
    vocabulary = "http://v.example/" + "x" * 8_000
    names = " ".join(f"n{n}" for n in range(60_000))
    page = f'<p vocab="{vocabulary}" property="{names}">x</p>'
    extraction = extract(page.encode(), "http://a.test/")
    assert extraction.facts.warnings["TooManyTokens"]
    assert len(extraction.quads) <= 1_001


def test_elements_beside_the_root_are_read() -> None:
    """In tables inside each other at the deepest level the parser puts elements there."""
    page = b"<table><td>" * 127 + b"</table><b><i><s><table><td></tbody>"
    page += b'<a rel="dc:x" href="/y">'
    extraction = extract(page, URL)
    assert extraction.facts.errors == {}
    assert extraction.links == [f"{URL}y"]
    assert len(extraction.quads) == 1


# Each paragraph copies the attributes of all the others.
HEAVY = b"<p>" + b"".join(
    b"<font %b a%d>" % (b" ".join(b"a%d=%d" % (m, m) for m in range(100)), n) for n in range(511)
)
BOMBS: dict[str, tuple[bytes, str]] = {
    "formatting": (
        b"<div>" + b"".join(b"<b id=%d>" % n for n in range(3000)) + b"</div>" + b"<p>x" * 3000,
        "page memory",
    ),
    "elements opened again": (BOMB, "page memory"),
    "no encoding declared": (BOMB.replace(b"<p>x", b"charset", 1)[:60_000], "page memory"),
    "properties opened again": (BOMB.replace(b"color=", b"property=dc:")[:20_000], "elements"),
    "attributes copied": (HEAVY + b"<p>x" * 10_000, "page memory"),
    "attributes of one element": (b"".join(b"<html a%d>" % n for n in range(17_500)), "roots"),
}
# Tells the cuts, the seconds of CPU, and the kilobytes that the process had at most.
MEASURED = """
import sys, time
from rdfaspider.extract import extract
extract(b"<p>", "http://a.test/")
start = time.process_time()
print(*extract(sys.stdin.buffer.read(), "http://a.test/").facts.cuts)
print(time.process_time() - start, open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
@pytest.mark.parametrize(("body", "cut"), BOMBS.values(), ids=BOMBS.keys())
def test_a_small_page_with_an_endless_tree_ends_soon(body: bytes, cut: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], input=body, capture_output=True, check=True
    )
    cuts, figures = done.stdout.decode().splitlines()
    seconds, kilobytes = map(float, figures.split())
    assert cuts == cut
    assert seconds < 2
    assert kilobytes < 400_000


LIMITED = """
import resource, sys
from rdfaspider.extract import extract
before = resource.getrlimit(resource.RLIMIT_AS)
assert extract(sys.stdin.buffer.read(), "http://a.test/").facts.is_out_of_memory
assert resource.getrlimit(resource.RLIMIT_AS) == before
assert extract(b'<p property="dc:x">y', "http://a.test/").quads
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_the_limits_of_the_caller_stay() -> None:
    subprocess.run([sys.executable, "-c", LIMITED], input=BOMB, check=True)
