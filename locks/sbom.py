"""Write the packages of a crawl as a software bill of materials: CycloneDX 1.6, in JSON.

    python locks/sbom.py locks/crawl.txt > sbom.json

Versions and hashes are those of the lock, for all systems. Licences are what the installed packages say of
themselves, so it runs in an environment that has them (`make sbom`). Nothing in it depends on the time or the
machine: the same lock gives the same file.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

_ENTRY = re.compile(
    r"^([\w.-]+)==([\w.+!]+)((?: ; [^\\\n]+)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
    re.MULTILINE,
)
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
# Expressions of SPDX; other texts are names.
_EXPRESSION = re.compile(
    r"[A-Za-z0-9.+-]+-[0-9][A-Za-z0-9.+-]*(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*|MIT"
)


def bill(lock: str) -> dict[str, Any]:
    """Return the bill of the packages in the text of a lock."""
    parts = [_component(*found) for found in _ENTRY.findall(lock)]
    this = f"pkg:pypi/rdfaspider@{version('rdfaspider')}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, this + lock)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": this,
                "name": "rdfaspider",
                "version": version("rdfaspider"),
                "licenses": [{"expression": "BSD-3-Clause"}],
                "purl": this,
            }
        },
        "components": parts,
        "dependencies": [{"ref": this, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def _component(name: str, release: str, marker: str, hashes: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{release}"
    part: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": release,
        "purl": purl,
        # One for each file of the release.
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{name}/{release}/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in _HASH.findall(hashes)],
            }
        ],
    }
    if licence := licence_of(name):
        is_expression = _EXPRESSION.fullmatch(licence)
        part["licenses"] = [
            {"expression": licence} if is_expression else {"license": {"name": licence}}
        ]
    if marker:
        part["properties"] = [{"name": "marker", "value": marker.removeprefix(" ; ")}]
    return part


def licence_of(name: str) -> str:
    """Return what a package says of its licence, "" if it is not installed or says nothing."""
    try:
        about = metadata(name)
    except PackageNotFoundError:  # for another system
        return ""
    for field in ("License-Expression", "License"):
        if (said := about.get(field)) and "\n" not in said:
            return str(said)
    known = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    return ", ".join(line.rpartition(" :: ")[2] for line in known)


if __name__ == "__main__":
    json.dump(bill(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.stdout, indent=1)
    print()
