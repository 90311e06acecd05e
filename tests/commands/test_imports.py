"""A crawl imports what it uses, and nothing that takes long besides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.conftest import PROJECT

# Each would take a crawl of the defaults milliseconds for nothing.
UNUSED = (
    "requests",
    "rdfaspider.console.server",
    "rdfaspider.extract.reading",
    "rdfaspider.frontier.views.reader",
    "rdfaspider.service.messages",
    "statistics",
    "tldextract",
    "tomllib",
    "twisted.conch",
)


PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sys.modules))
from rdfaspider.__main__ import main
main()
"""


def test_what_a_crawl_does_not_import(tmp_path: Path) -> None:
    with running(Parameters(levels=0, pages=1)) as url:
        arguments = ["crawl", "rdfa", "-a", f"seeds={url}/", "-s", f"JOBDIR={tmp_path}/crawl"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "1 URL = 1 done" in done.stderr
    imported = set(done.stdout.split())
    assert "rdfaspider.pipelines.store" in imported
    assert not imported.intersection(UNUSED)
