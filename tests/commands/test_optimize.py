from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.stores import open_sink
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded.oxigraph import OxigraphStore

if TYPE_CHECKING:
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
    assert re.fullmatch(
        r"crawl/store has \d+ files of [\d.]+ MB: there was nothing to merge\.\n", again.stdout
    )
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
        "scrapy optimize: files is not an embedded store, and only such a one is merged here.\n"
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


@pytest.mark.parametrize("seconds", [0.5, 0.8, 1.2])
def test_ctrl_c_ends_it_and_harms_nothing(tmp_path: Path, seconds: float) -> None:
    directory = tmp_path / "crawl" / "store"
    count = fill(directory, 600)
    command = [sys.executable, "-m", "rdfaspider", "optimize"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        process.wait()
        assert time.monotonic() - sent < 2
    assert quads_in(directory) == count
