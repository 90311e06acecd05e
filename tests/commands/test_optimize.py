from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from rdfaspider.stores import open_sink
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded.oxigraph import OxigraphStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands.conftest import AtTerminal
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
LOADS, PAGES, QUADS = 3, 100, 50
SENTENCE = re.compile(
    r"crawl/store had (\d+) files of [\d.]+ MB and has (\d+) files of [\d.]+ MB now, after [\d.]+ s\.\n"
)


def page(number: int, quads: int = QUADS) -> Change:
    graph = f"http://site.test/{number}"
    lines = [
        f'<{graph}#{n}> <http://schema.org/name> "{number} {n}" <{graph}> .\n' for n in range(quads)
    ]
    return Change.of_page(graph, "".join(lines).encode())


def fill(directory: Path, quads: int = QUADS) -> int:
    """Load pages in several batches, as a crawl does; return the number of their quads."""
    with OxigraphStore(str(directory)) as store:
        for load in range(LOADS):
            store.load([page(load * PAGES + number, quads) for number in range(PAGES)])
        return store.count()


def quads_in(directory: Path) -> int:
    with OxigraphStore(str(directory), read_only=True) as store:
        return store.count()


def test_many_files_become_few_and_nothing_is_lost(scrapy: Scrapy, tmp_path: Path) -> None:
    directory = tmp_path / "crawl" / "store"
    assert fill(directory) == LOADS * PAGES * QUADS
    result = scrapy("optimize")
    assert (result.returncode, result.stderr) == (0, "")
    sentence = SENTENCE.fullmatch(result.stdout)
    assert sentence
    before, after = map(int, sentence.groups())
    assert after < before
    assert len(list(directory.glob("*.sst"))) == after
    assert quads_in(directory) == LOADS * PAGES * QUADS
    again = scrapy("optimize")
    assert (again.returncode, again.stderr) == (0, "")
    assert quads_in(directory) == LOADS * PAGES * QUADS


def test_what_a_kill_has_left_in_the_journal_is_loaded_first(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    directory = tmp_path / "crawl" / "store"
    program = (
        "import os, sys; from rdfaspider.stores import open_sink\n"
        "from tests.commands.test_optimize import page\n"
        "open_sink(sys.argv[1], '').put([page(1)]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(directory)], cwd=PROJECT, check=True)
    assert scrapy("optimize").returncode == 0
    assert quads_in(directory) == QUADS


def test_a_store_that_cannot_be_merged_is_refused_in_a_sentence(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    missing = scrapy("optimize")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith(
        "scrapy optimize: There is no store in crawl/store: run a crawl"
    )
    assert not (tmp_path / "crawl").exists()
    other = scrapy("optimize", STORE_URL="nquads:files")
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr == (
        "scrapy optimize: files is not an embedded store: there is nothing to merge.\n"
    )
    with open_sink(str(tmp_path / "crawl" / "store"), "") as sink:
        sink.put([page(1)])
        used = scrapy("optimize")
    assert (used.returncode, used.stdout) == (1, "")
    assert "is in use by another crawl: wait until that one ends" in used.stderr


def test_a_terminal_is_told_in_one_line(at_terminal: AtTerminal, tmp_path: Path) -> None:
    fill(tmp_path / "crawl" / "store")
    shown = at_terminal("optimize")
    assert shown.code == 0
    assert len([line for line in shown.lines if line]) == 1
    assert max(map(len, shown.lines)) <= 80


# A store whose merging takes for ever, and says when it begins.
STUCK = """
import sys, time
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
def optimize(self):
    print("merging", flush=True)
    time.sleep(60)
OxigraphStore.optimize = optimize
sys.argv = ["rdfaspider", "optimize"]
from rdfaspider.__main__ import main
main()
"""


def interrupted(
    directory: Path, program: list[str], begun: Callable[[IO[str]], object]
) -> tuple[int, str]:
    """Run a command, send it Ctrl-C when it has begun, and return its exit code and its error."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, *program],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=pipe,
        stderr=pipe,
        text=True,
    ) as process:
        assert process.stdout
        begun(process.stdout)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        return process.returncode, error


def test_ctrl_c_does_not_wait_until_all_is_merged(tmp_path: Path) -> None:
    fill(tmp_path / "crawl" / "store")
    code, error = interrupted(tmp_path, ["-c", STUCK], lambda output: output.readline())
    assert (code, error) == (130, "rdfaspider optimize: interrupted.\n")


def test_ctrl_c_harms_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "crawl" / "store"
    count = fill(directory, 600)
    files = set(directory.glob("*.sst"))

    def merges(output: IO[str]) -> None:
        while set(directory.glob("*.sst")) == files:
            time.sleep(0.002)

    code, _ = interrupted(tmp_path, ["-m", "rdfaspider", "optimize"], merges)
    assert code in (130, 0)  # unless it was done already
    assert quads_in(directory) == count
