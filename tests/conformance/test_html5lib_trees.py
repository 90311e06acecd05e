"""The tree of a page against html5lib's tests of tree construction, with scripting off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import turbohtml
from turbohtml import Namespace

from rdfaspider.extract import Facts, Limits
from rdfaspider.extract.document.parse import parse

PREFIX = {Namespace.HTML: "", Namespace.SVG: "svg ", Namespace.MATHML: "math "}
PREFIXED = ("xlink:", "xml:", "xmlns:")
SECTIONS = {f"#{name}" for name in ("errors", "new-errors", "document-fragment", "document")}
SECTIONS |= {"#script-on", "#script-off"}

# How many trees differ, by cause. The first changes nothing that is read: what is in a template is not on
# the page.
DIFFERENCES = {"the content of templates is left out": 91, "others": 0}


def cases(folder: Path) -> Iterator[dict[str, list[str]]]:
    """Yield the lines of each case by section."""
    for path in sorted(folder.glob("*.dat")):
        for case in f"\n{path.read_bytes().decode()}".split("\n#data\n")[1:]:
            section: list[str] = []
            found = {"#data": section}
            for line in case.split("\n"):
                if line in SECTIONS:
                    section = found[line] = []
                else:
                    section.append(line)
            yield found


def lines(node: Any, indent: str = "| ") -> Iterator[str]:
    """Yield the lines of html5lib's form for the children of a node."""
    for child in node.children:
        if isinstance(child, turbohtml.Element):
            yield f"{indent}<{PREFIX[child.namespace]}{child.tag}>"
            is_foreign = child.namespace is not Namespace.HTML
            attributes = {
                name.replace(":", " ", is_foreign and name.startswith(PREFIXED)): child.attr(name)
                for name in child.attrs
            }
            yield from (f'{indent}  {name}="{attributes[name]}"' for name in sorted(attributes))
            if child.tag == "template" and not is_foreign:
                yield f"{indent}  content"
            yield from lines(child, f"{indent}  ")
        elif isinstance(child, turbohtml.Doctype):
            identifiers = (child.public_id or "", child.system_id or "")
            written = ' "{}" "{}"'.format(*identifiers) if any(identifiers) else ""
            yield f"{indent}<!DOCTYPE {child.name}{written}>"
        elif isinstance(child, turbohtml.Comment):
            yield f"{indent}<!-- {child.data} -->"
        elif isinstance(child, turbohtml.ProcessingInstruction):
            yield f"{indent}<?{child.target} {child.data}?>"
        else:
            assert isinstance(child, turbohtml.Text)
            yield f'{indent}"{child.data}"'


def without_templates(tree: list[str]) -> list[str]:
    """Return a tree without what is in templates."""
    kept: list[str] = []
    inside = ""
    for line in tree:
        if not (inside and line.startswith(inside)):
            inside = f"{line.removesuffix('content')}  " if line.endswith("  content") else ""
            kept.append(line)
    return kept


def test_trees_are_those_of_browsers(vectors: Path) -> None:
    found = dict.fromkeys(DIFFERENCES, 0)
    wrong: list[str] = []
    count = 0
    for case in cases(vectors / "html5lib-trees"):
        if "#document-fragment" in case or "#script-on" in case:
            continue
        count += 1
        page = "\n".join(case["#data"])
        document: Any = parse(page.encode(), "text/html", frozenset(), Limits(), Facts())
        tree = "\n".join(lines(document._tree))
        expected = "\n".join(case["#document"]).rstrip("\n")
        if tree == expected:
            continue
        if tree == "\n".join(without_templates(expected.split("\n"))):
            found["the content of templates is left out"] += 1
        else:
            wrong.append(page)
            found["others"] += 1
    assert count == 1630
    assert found == DIFFERENCES, wrong[:10]
