"""An archive through kills: every page that is done has exactly one whole record.

All who judge archives are content, and what is read again is the store of the crawl.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from rdfaspider.archive.check import check
from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.reader import files_of
from rdfaspider.frontier.tables.trie import DONE
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from rdfaspider.urls.keys import to_url
from tests.archive.judges import validate

PROJECT = Path(__file__).parent.parent


def start(directory: Path, proxy: str, seed: str) -> subprocess.Popen[bytes]:
    settings = {
        "POLITENESS_DELAY": 0.05,
        "POLITENESS_SERVER_DELAY": 0,  # they are all on this machine
        "EXTRACT_PROCESSES": 0,
        "ARCHIVE": 1,
        "STORE_PROVENANCE": 1,
    }
    options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
    arguments = ["crawl", "rdfa", "-a", f"seeds={seed}", "-a", "scope=all", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        stderr=subprocess.DEVNULL,
    )


def kill_often(directory: Path, parameters: Parameters, kills: int) -> int:
    """Kill a crawl at random instants while it writes, then let it end; return how often it was killed."""
    chance = random.Random(5)
    log = directory / "access.log"
    log.touch()
    killed = 0
    with running(parameters, log=log) as proxy:
        seed = Web(parameters).url(0, 0)
        for _ in range(kills):
            before = log.stat().st_size
            process = start(directory, proxy, seed)
            while log.stat().st_size == before and process.poll() is None:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.4))
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert start(directory, proxy, seed).wait(240) == 0
    return killed


def check_archive(directory: Path) -> None:
    archive = directory / "crawl" / "archive"
    assert [*check(archive, Counter())] == []
    assert not [*archive.glob("**/*.open"), *archive.glob("**/*.new")]
    records: Counter[str] = Counter()
    for path in files_of(archive):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.raw_stream.read()
                if record.rec_type in ("response", "revisit"):
                    records[record.rec_headers.get_header("WARC-Target-URI")] += 1
    with FrontierReader(str(directory / "crawl" / "frontier"), delay=1) as reader:
        done = {to_url(key) for key, record in reader.trie.subtree() if record.state == DONE}
    assert len(done) > 50
    validate(archive)
    check_replay(directory)
    assert {url: records[url] for url in done if records[url] != 1} == {}
    assert Counter(capture.url for capture in captures_in(archive)) == records


def check_replay(directory: Path) -> None:
    """Read all again: that must give the store of the crawl with its provenance, quad by quad."""
    command = [sys.executable, "-m", "rdfaspider", "replay", "--to", "again"]
    command += ["-s", "STORE_PROVENANCE=1"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True)
    stores = []
    for path in (directory / "again", directory / "crawl" / "store"):
        with open_store(str(path), read_only=True) as store:
            stores.append({str(quad) for quad in store.quads()})
    assert stores[0] and stores[0] == stores[1]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_page_has_one_record_after_kills(tmp_path: Path) -> None:
    parameters = Parameters(seed=3, hosts=8, levels=2, pages=4, links_across=2, latency=0.03)
    assert kill_often(tmp_path, parameters, kills=3) >= 2
    check_archive(tmp_path)


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_every_page_has_one_record_after_fifty_kills(tmp_path: Path) -> None:
    parameters = Parameters(seed=4, hosts=40, levels=3, pages=4, links_across=2, latency=0.03)
    assert kill_often(tmp_path, parameters, kills=50) == 50
    check_archive(tmp_path)
