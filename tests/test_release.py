"""What a release needs besides code: a bill of materials, a citation, a list of steps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker

import rdfaspider

PROJECT = Path(__file__).parent.parent
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")


def test_the_bill_has_every_package_of_the_lock() -> None:
    lock = PROJECT / "locks" / "crawl.txt"
    command = [sys.executable, str(PROJECT / "locks" / "sbom.py"), str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    pins = dict(re.findall(r"^([\w.-]+)==([\w.+!]+)", lock.read_text(), re.MULTILINE))
    assert {part["name"]: part["version"] for part in bill["components"]} == pins
    refs = [part["bom-ref"] for part in bill["components"]]
    assert len(set(refs)) == len(refs)
    assert bill["dependencies"][0]["dependsOn"] == refs
    for part in bill["components"]:
        assert part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"
        assert all(len(each["content"]) == 64 for each in part["externalReferences"][0]["hashes"])
    for part in bill["components"]:
        markers = [Marker(each["value"]) for each in part.get("properties", ())]
        if all(marker.evaluate() for marker in markers):
            assert part.get("licenses"), f"{part['name']} does not say what its licence is"


def test_the_citation_is_of_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license", "version"} <= cited.keys()
    assert str(cited["version"]) == rdfaspider.__version__
    assert cited["license"] == "BSD-3-Clause"
    for work in (cited, *cited["references"]):
        for author in work["authors"]:
            assert author.keys() in ({"name"}, {"given-names", "family-names"})
    assert len(cited["references"]) == 5


def test_the_steps_of_a_release_name_what_is_there() -> None:
    text = (PROJECT / "RELEASING.md").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z ]+)\b", text):
        for name in target.split():
            assert re.search(rf"^{name}:", MAKEFILE, re.MULTILINE), f"there is no make {name}"
    for name in re.findall(r"`((?:docs|tests|rdfaspider|locks)/[\w./]*)`", text):
        assert (PROJECT / name).exists(), name
