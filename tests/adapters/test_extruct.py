"""The shape of extruct's answers."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.adapters.extruct import SYNTAXES, extract
from tests.extract.samples import BOMB

URL = "http://a.example/page"


def test_microdata_is_nested() -> None:
    page = """<div itemscope itemtype="https://schema.org/Product" itemid="#p"><b itemprop="name">Lamp</b>
    <b itemprop="color">red</b><b itemprop="color">blue</b><a itemprop="url" href="/lamp">x</a>
    <p itemprop="offers" itemscope itemtype="https://schema.org/Offer"><b itemprop="price">5</b></p></div>
    <div itemscope><b itemprop="note">no type</b></div>"""
    assert extract(page, URL, syntaxes=["microdata"]) == {
        "microdata": [
            {
                "type": "https://schema.org/Product",
                "id": f"{URL}#p",
                "properties": {
                    "name": "Lamp",
                    "color": ["red", "blue"],
                    "url": "http://a.example/lamp",
                    "offers": {"type": "https://schema.org/Offer", "properties": {"price": "5"}},
                },
            },
            {"properties": {"note": "no type"}},
        ]
    }


def test_an_item_inside_itself_ends() -> None:
    page = (
        '<div id="a" itemscope itemref="b"></div><p id="b" itemprop="x" itemscope itemref="b">y</p>'
    )
    assert len(extract(page, URL)["microdata"]) == 1


def test_json_ld_is_what_the_scripts_hold() -> None:
    page = """<script type="application/ld+json">[{"@type": "A"}, {"@type": "B"}]</script>
    <script type="application/ld+json">{"@type": "C",}</script>
    <script type="application/ld+json">no json</script><script>{"@type": "D"}</script>"""
    found = extract(page, URL, syntaxes=["json-ld"])["json-ld"]
    assert [each["@type"] for each in found] == ["A", "B", "C"]


def test_rdfa_is_expanded_json_ld() -> None:
    page = """<p vocab="http://schema.org/" resource="#x" typeof="Person" lang="en"><b property="name">Ada</b>
    <i property="age" datatype="xsd:integer">36</i><a property="url" href="/ada">x</a></p>"""
    (_, person) = extract(page.encode(), URL, syntaxes=["rdfa"])["rdfa"]
    assert person == {
        "@id": f"{URL}#x",
        "@type": ["http://schema.org/Person"],
        "http://schema.org/name": [{"@value": "Ada", "@language": "en"}],
        "http://schema.org/age": [
            {"@value": "36", "@type": "http://www.w3.org/2001/XMLSchema#integer"}
        ],
        "http://schema.org/url": [{"@id": "http://a.example/ada"}],
    }


def test_a_syntax_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="microformat: choose among microdata, json-ld, rdfa"):
        extract("", syntaxes=["rdfa", "microformat"])


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_a_page_with_an_endless_tree_is_an_error(syntax: str) -> None:
    script = "import sys; from rdfaspider.adapters.extruct import extract"
    script += f"; extract(sys.stdin.buffer.read(), syntaxes=[{syntax!r}])"
    done = subprocess.run([sys.executable, "-c", script], input=BOMB, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1].startswith("MemoryError")


@pytest.mark.skipif(find_spec("extruct") is None, reason="extruct is not installed")
def test_real_pages_as_extruct_reads_them(vectors: Path) -> None:
    """JSON-LD is the same; of Microdata the names and texts that extruct finds are found."""
    import extruct

    compared = 0
    for path in sorted((vectors / "pages").glob("*.html")):
        body = path.read_bytes()
        try:
            theirs = extruct.extract(body, base_url=URL, syntaxes=["microdata", "json-ld"])
        except Exception:  # its own faults
            continue
        ours = extract(body, URL)
        assert ours["json-ld"] == theirs["json-ld"], path
        assert types(theirs["microdata"]) <= types(ours["microdata"]), path
        compared += 1
    assert compared


def types(items: list[Any]) -> set[str]:
    found: set[str] = set()
    for item in items:
        if isinstance(item, dict):
            kinds = item.get("type", [])
            found.update([kinds] if isinstance(kinds, str) else kinds)
            for value in item.get("properties", {}).values():
                found |= types(value if isinstance(value, list) else [value])
    return found


def test_items_that_name_each_other_many_times_are_given_once() -> None:
    """Forty items, each naming the next by two properties, would be a million million."""
    twice = '<div itemprop="p q" itemscope>' * 40 + "</div>" * 40
    assert extract(f"<div itemscope>{twice}</div>", syntaxes=["microdata"])["microdata"]
    chain = '<div itemprop="next" itemscope>' * 1_200 + "</div>" * 1_200
    page = f"<div itemscope>{chain}</div>"
    (found,) = extract(page, "http://one.example/", syntaxes=["microdata"])["microdata"]
    depth = 0
    while isinstance(found, dict) and "next" in found["properties"]:
        found, depth = found["properties"]["next"], depth + 1
    assert 50 < depth <= 102
