"""The Encoding Standard, by the cases of the Web Platform Tests and of html5lib, through pages."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from pyoxigraph import Literal

from rdfaspider.extract import Extraction, extract

URL = "http://site.example/"

# The Standard's encoders write these codes, and its decoders read other characters in them.
ENCODED_ONLY = {"5c", "7e", "817c", "a1dd", "1b284a5c1b2842", "1b284a7e1b2842", "1b2442215d1b2842"}

# The first bytes of codes that only decoders know.
DECODED_ONLY = {"euc-jp": ("8f",), "big5": ("8", "9", "a0")}

# html5lib's pages that declare their encoding where we do not look: in what a script writes, and in the
# text of script and style elements, where it only counts for browsers as long as they look at bare bytes.
UNDECLARED = {
    """<script>document.write('<meta charset="iso8859-2">')</script>""",
    """<script type="text/plain"><meta charset="iso8859-2"></script>""",
    """<style type="text/plain"><meta charset="iso8859-2"></style>""",
}


@pytest.fixture(scope="module")
def tables(vectors: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((vectors / "encodings/wpt/tables.json").read_text())
    return found


def queries(texts: list[str], encoding: str) -> list[str]:
    """Return what is asked for by links with these queries on a page, which may have any characters."""
    anchors = [
        f'<a href="?{"".join(f"&#{ord(character)};" for character in text)}"></a>' for text in texts
    ]
    found = extract("".join(anchors).encode(), URL, f"text/html; charset={encoding}").links
    return [link.removeprefix(f"{URL}?") for link in found]


def literal(extraction: Extraction) -> str:
    (quad,) = extraction.quads
    assert isinstance(quad.object, Literal)
    return quad.object.value


def cases(tables: dict[str, Any]) -> dict[str, list[tuple[bytes, str]]]:
    """Return the codes and the characters of each label."""
    found: dict[str, list[tuple[bytes, str]]] = {}
    for label, encoding in tables["labels"].items():
        if (single := tables["single"].get(encoding.removesuffix("-I"))) is not None:
            points = enumerate(single, 0x80)
            found[label] = [(bytes((byte,)), chr(point or 0xFFFD)) for byte, point in points]
        elif (pairs := tables["multi"].get(encoding.lower())) is not None:
            found[label] = [
                (bytes.fromhex(code), chr(int(point, 16)))
                for code, point in pairs
                if code not in ENCODED_ONLY
            ]
    return found


@pytest.mark.parametrize("place", ["header", "meta"])
def test_each_label_is_decoded_by_its_table(tables: dict[str, Any], place: str) -> None:
    wrong: defaultdict[str, str] = defaultdict(str)
    for label, codes in cases(tables).items():
        body = b'<p property="dc:title">' + b",".join(code for code, _ in codes)
        content_type = "text/html"
        if place == "header":
            content_type += f'; charset="{label}"'
        else:
            body = f'<meta charset="{label}">'.encode() + body
        extraction = extract(body, URL, content_type)
        if literal(extraction) != ",".join(character for _, character in codes):
            wrong[label] = "decoded otherwise"
        if extraction.facts.encoding.lower() != tables["labels"][label].lower():
            wrong[label] = f"is called {extraction.facts.encoding}"
    assert len(cases(tables)) == 196
    assert wrong == {}


def test_pages_without_a_header_are_read_in_the_encoding_they_declare(vectors: Path) -> None:
    otherwise = set()
    count = 0
    for path in sorted((vectors / "encodings/html5lib").glob("*.dat")):
        for case in path.read_bytes().split(b"#data\n")[1:]:
            body, _, encoding = case.rpartition(b"\n#encoding\n")
            count += 1
            # The byte makes it no UTF-8, which we take pages for that declare nothing.
            found = extract(body + b"\xe9", URL).facts.encoding
            if found.lower() != encoding.decode().strip().lower():
                otherwise.add(body.decode("latin-1").removeprefix("<!DOCTYPE HTML>\n"))
    assert count == 82
    assert otherwise == UNDECLARED


def test_queries_of_links_are_encoded_as_the_web_platform_tests_expect(vectors: Path) -> None:
    found = json.loads((vectors / "wpt-urls/percent-encoding.json").read_text())
    expected = [
        (case["input"], encoding, query)
        for case in found
        if isinstance(case, dict)
        for encoding, query in case["output"].items()
    ]
    assert len(expected) == 16
    asked = [(text, encoding, *queries([text], encoding)) for text, encoding, _ in expected]
    assert asked == expected


def test_each_character_is_encoded_by_the_table_of_its_encoding(tables: dict[str, Any]) -> None:
    every = {
        encoding: [(f"{code:02x}", f"{point or 0:x}") for code, point in enumerate(points, 0x80)]
        for encoding, points in tables["single"].items()
    }
    wrong = []
    for encoding, pairs in (every | tables["multi"]).items():
        codes = [
            (bytes.fromhex(code), chr(int(point, 16)))
            for code, point in pairs
            if not code.startswith(DECODED_ONLY.get(encoding, "-")) and int(point, 16) >= 0xA0
        ]
        parts = [codes[start : start + 300] for start in range(0, len(codes), 300)]
        texts = [",".join(character for _, character in part) for part in parts]
        for part, query in zip(parts, queries(texts, encoding), strict=True):
            if unquote_to_bytes(query) != b",".join(code for code, _ in part):
                wrong.append((encoding, part[0]))
    assert wrong == []


def test_queries_are_encoded_by_every_encoding(tables: dict[str, Any]) -> None:
    for label, encoding in tables["labels"].items():
        if encoding not in ("UTF-16LE", "UTF-16BE", "replacement"):  # else the page means nothing
            assert len(queries(["é"], label)) == 1, label
    # Those that the tables do not have: the euro, a common character, and one of four bytes.
    assert queries(["€中é"], "gbk") == ["%80%D6%D0%A8%A6"]
    assert queries(["€中é"], "gb18030") == ["%A2%E3%D6%D0%A8%A6"]
    assert queries(["€中\U0001f600"], "gb18030") == ["%A2%E3%D6%D0%949%FC6"]
    assert queries(["\U0001f600"], "gbk") == ["%26%23128512%3B"]
    assert queries(["\uf7e9"], "x-user-defined") == ["%E9"]
