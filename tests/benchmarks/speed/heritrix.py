"""Crawl every page that can be reached from the seeds, with Heritrix.

    python -m tests.benchmarks.speed.heritrix DIRECTORY SEEDS

Heritrix runs a single job and ends with it. The job is the profile in its jar, with a few settings
replaced. It stays on the hosts of the seeds. Host names come from a file, so no name server is asked.
DIRECTORY gets pages.txt, the URL of each page that was fetched.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from tests.benchmarks.speed import programs
from tests.benchmarks.speed.contender import COMMON

LIBRARY = programs.BUILT / "heritrix" / "dependency"
# The profile in the jar of the engine, and the places in it that the settings and the seeds replace.
PROFILE = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
SETTINGS = re.compile(r"^metadata\.operatorContactUrl=.*$", re.MULTILINE)
SEEDS = "http://example.example/example"
JOB = {
    "metadata.operatorContactUrl": "http://operator.test/",
    "crawlController.pauseAtStart": "false",
    "fetchDns.disableJavaDnsResolves": "true",
    "fetchDns.acceptNonDnsResolves": "true",
    "statisticsTracker.intervalSeconds": "1",
}
NO_PAUSES = {
    "crawlController.maxToeThreads": COMMON["CONCURRENT_REQUESTS"],
    "preparer.queueAssignmentPolicy.parallelQueues": COMMON["CONCURRENT_REQUESTS_PER_DOMAIN"],
    "disposition.delayFactor": 0,
    "disposition.minDelayMs": 0,
}


class Fetch(NamedTuple):
    """A line of crawl.log: `time` is the end of the fetch, since 1970; `size` is that of the body."""

    time: float
    status: int
    size: int
    url: str
    kind: str

    @property
    def is_page(self) -> bool:
        return self.status == 200 and self.kind == "text/html"


class Progress(NamedTuple):
    """A line of progress-statistics.log: URLs discovered so far, and how many of them wait."""

    time: float
    discovered: int
    queued: int


class Heritrix:
    """A job of Heritrix in a directory. Its settings are `bean.property: value`."""

    def __init__(
        self, directory: Path, seeds: Iterable[str], settings: Mapping[str, object]
    ) -> None:
        self._directory = directory
        self._job = directory / "jobs" / "crawl"
        self._job.mkdir(parents=True)
        urls = list(seeds)
        profile = SETTINGS.sub(_properties({**JOB, **settings}), _profile())
        text = profile.replace(SEEDS, escape("\n".join(urls)))
        (self._job / "crawler-beans.cxml").write_text(text)
        names = {urlsplit(url).hostname for url in urls}
        (directory / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
        (directory / "password").write_text(f"operator:{secrets.token_hex()}\n")

    def start(self) -> subprocess.Popen[bytes]:
        """Start the job and return its process once it crawls; RuntimeError if it does not."""
        options = ("-b", "127.0.0.1", "-p", "0", "-a", "@password", "-j", "jobs", "-r", "crawl")
        java = ("java", f"-Djdk.net.hosts.file={self._directory / 'hosts'}", "-cp", f"{LIBRARY}/*")
        with (self._directory / "heritrix.log").open("wb") as log:
            process = subprocess.Popen(
                [*java, "org.archive.crawler.Heritrix", *options],
                cwd=self._directory,
                stdout=log,
                stderr=log,
            )
        while "CRAWL RUNNING" not in self._log("progress-statistics.log"):
            if process.poll() is not None:
                raise RuntimeError(self._last_words())
            time.sleep(0.05)
        return process

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the job has ended; RuntimeError if it failed."""
        if process.wait():
            raise RuntimeError(self._last_words())

    def fetched(self) -> list[Fetch]:
        """Return all fetches in the order of crawl.log."""
        return [_fetch(line) for line in self._log("crawl.log").splitlines()]

    def progress(self) -> list[Progress]:
        """Return the counters of the crawl, one line a second."""
        lines = map(str.split, self._log("progress-statistics.log").splitlines())
        return [
            Progress(_seconds(words[0]), int(words[1]), int(words[2]))
            for words in lines
            if words[1].isdecimal()
        ]

    def _last_words(self) -> str:
        return (self._directory / "heritrix.log").read_text(errors="replace")[-2000:]

    def _log(self, name: str) -> str:
        """Return a log of the job, "" if there is none yet."""
        return "".join(path.read_text() for path in self._job.glob(f"2*/logs/{name}"))


def version() -> str:
    return _engine().stem.removeprefix("heritrix-engine-")


def _engine() -> Path:
    (engine,) = LIBRARY.glob("heritrix-engine-*.jar")
    return engine


def _profile() -> str:
    with zipfile.ZipFile(_engine()) as jar:
        return jar.read(PROFILE).decode()


def _properties(settings: Mapping[str, object]) -> str:
    return escape("\n".join(f"{name}={value}" for name, value in settings.items()))


def _fetch(line: str) -> Fetch:
    when, status, size, url, _, _, kind, *_ = line.split()
    # A fetch that failed has no size.
    return Fetch(_seconds(when), int(status), int(size) if size != "-" else 0, url, kind)


def _seconds(when: str) -> float:
    return datetime.fromisoformat(when).timestamp()


def main() -> None:
    directory, seeds = map(Path, sys.argv[1:])
    heritrix = Heritrix(directory.resolve(), seeds.read_text().split(), NO_PAUSES)
    process = heritrix.start()
    print("begin", flush=True)
    heritrix.finish(process)
    print("end", flush=True)
    sys.stdin.read()
    pages = [fetch.url for fetch in heritrix.fetched() if fetch.is_page]
    (directory / "pages.txt").write_text("\n".join(pages))


if __name__ == "__main__":
    main()
