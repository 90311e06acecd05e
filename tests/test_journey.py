"""The way of a URL through the files, as docs/architecture.md tells it, is the one that a crawl takes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "rdfaspider"
ROW = re.compile(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)

TRACED = """
import sys, threading
from pathlib import Path
calls = []
def note(frame, event, arg):
    code = frame.f_code
    if event == "call" and "/rdfaspider/" in code.co_filename:
        calls.append(f"{code.co_filename} {code.co_qualname}")
log = Path(sys.argv.pop(1))
from rdfaspider.__main__ import main
threading.setprofile(note)
sys.setprofile(note)
try:
    main()
finally:
    sys.setprofile(None)
    log.write_text("\\n".join(calls))
"""


def told() -> list[tuple[str, str]]:
    text = (PROJECT / "docs" / "architecture.md").read_text()
    section = text.partition("## One URL, file by file")[2].partition("\n## ")[0]
    return ROW.findall(section)


def test_a_url_goes_the_way_that_is_told_through_twenty_files(tmp_path: Path) -> None:
    way = told()
    assert len({file for file, _ in way}) <= 20 < len(way)
    log = tmp_path / "calls"
    with running(Parameters(seed=1, levels=1, pages=2)) as url:
        arguments = ["crawl", "rdfa", "-a", f"seeds={url}", "-s", "EXTRACT_PROCESSES=0"]
        arguments += ["-s", "POLITENESS_OFF_FOR_OWN_SERVERS=1"]
        subprocess.run(
            [sys.executable, "-c", TRACED, str(log), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            check=True,
            capture_output=True,
        )
    rest = iter(log.read_text().splitlines())
    for file, function in way:
        call = f"{PACKAGE / file} {function}"
        assert call in rest, f"{file} {function} is not called there"
