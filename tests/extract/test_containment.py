from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.containment import contained
from rdfaspider.extract.facts import Facts

PAGE = b"""<html lang=en prefix="x: http://x.test/"><title>T</title>
<p property="x:name">N</p><a href="/b">b</a>
<script type="application/ld+json">{"@context": "https://schema.org", "name": "J"}</script>
<p itemscope><i itemprop="name">M</i></p>"""


class Panic(BaseException):
    """What comes out of Rust code is like this: not an Exception."""


@pytest.mark.parametrize("kind", [ValueError, RecursionError, Panic])
def test_an_error_is_told_with_its_place(kind: type[BaseException]) -> None:
    facts = Facts()
    with contained("rdfa", facts):
        raise kind("one\ntwo " + "x" * 1000)
    assert facts.cuts == {"rdfa error": 1}
    assert not facts.is_out_of_memory
    *place, error = facts.errors["rdfa"].split("\n")
    assert "test_an_error_is_told_with_its_place" in place[0]
    assert error.startswith(f"{kind.__name__}: one two xxx")
    assert len(error) < 250


def test_a_lack_of_memory_is_no_error() -> None:
    facts = Facts()
    with contained("jsonld", facts):
        raise MemoryError
    assert facts.cuts == {"jsonld memory": 1}
    assert facts.is_out_of_memory
    assert facts.errors == {}


def test_what_took_the_memory_is_let_go() -> None:
    large = bytearray(1000)
    held = sys.getrefcount(large)

    def fail(page: bytearray) -> None:
        raise MemoryError

    facts = Facts()
    with contained("page", facts):
        fail(large)
    assert sys.getrefcount(large) == held


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_for_the_process_gets_out(kind: type[BaseException]) -> None:
    with pytest.raises(kind), contained("rdfa", Facts()):
        raise kind


@pytest.mark.parametrize(
    ("limits", "reader"), [({"prefixes": "few"}, "rdfa"), ({"links": "few"}, "links")]
)
def test_a_reader_that_fails_costs_no_other_anything(limits: dict[str, int], reader: str) -> None:
    """No page is known that makes a reader fail, but a limit that is no number does."""
    extraction: Extraction = extract(
        PAGE, "http://a.test/", options=Options(limits=Limits(**limits))
    )
    assert [*extraction.facts.errors] == [reader]
    assert extraction.facts.title == "T"
    assert len(extraction.links) == (reader != "links")
    found = {name for name, count in extraction.facts.quads.items() if count}
    assert found == {"rdfa", "jsonld", "microdata"} - {reader}
    assert len(extraction.quads) == extraction.facts.quads.total()


STARVED = """
import os, resource
from rdfaspider.extract import extract

url, body = "http://a.test/", b'<i property="dc:title">x</i>' * 30_000
extract(body[:1000], url)
for megabytes in range(0, 45, 3):
    if not os.fork():
        result = 1
        try:
            pages = int(open("/proc/self/statm").read().split()[0])
            limit = pages * resource.getpagesize() + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            facts = extract(body, url).facts
            result = 2 if facts.is_out_of_memory else 3 if facts.quads["rdfa"] == 1 else 4
        finally:
            os._exit(result)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_a_page_is_read_or_out_of_memory_however_little_there_is() -> None:
    done = subprocess.run([sys.executable, "-c", STARVED], stdout=subprocess.PIPE, check=True)
    results = set(done.stdout.split())
    assert results == {b"2", b"3"}
