"""The history of a crawl: its file, and what real crawls leave in it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from rdfaspider.extensions.history.extension import History
from rdfaspider.extensions.history.samples import NAME, Sample, Samples, read
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler as Crawl

PROJECT = Path(__file__).parents[2]


def sample(seconds: float, run: int = 1) -> Sample:
    return Sample(1e9 + seconds, run, seconds, pages=int(seconds * 10))


def fill(path: Path, count: int, step: float = 5.0, **options: int) -> Samples:
    """Take a sample whenever one is due, as the timer does."""
    samples = Samples(path, step, **options)
    for number in range(count):
        if samples.is_due(number * step) or not number:
            samples.append(sample(number * step))
    return samples


def test_what_was_appended_is_read(tmp_path: Path) -> None:
    fill(tmp_path / "deep" / NAME, 10)
    assert read(tmp_path / "deep" / NAME) == [sample(5.0 * number) for number in range(10)]


@given(count=st.integers(1, 3_000))
def test_a_long_crawl_is_evenly_covered_by_few_samples(
    tmp_path_factory: pytest.TempPathFactory, count: int
) -> None:
    path = tmp_path_factory.mktemp("history") / NAME
    fill(path, count, limit=50)
    seconds = [sample.seconds for sample in read(path)]
    assert len(seconds) <= 50
    assert seconds[0] == 0.0
    gaps = [after - before for before, after in pairwise(seconds)]
    if count > 50:
        assert len(seconds) >= 24
        assert max(gaps) <= 4 * sorted(gaps)[len(gaps) // 2], "some part is hardly covered"


@given(runs=st.lists(st.floats(0.0, 100.0), min_size=1, max_size=200))
def test_many_runs_are_bounded_too(
    tmp_path_factory: pytest.TempPathFactory, runs: list[float]
) -> None:
    path = tmp_path_factory.mktemp("history") / NAME
    for length in runs:
        samples = Samples(path, 5.0, limit=20)
        start, run = samples.last.seconds, samples.last.run + 1
        samples.append(sample(start, run))
        samples.append(sample(start + length, run))
    found = read(path)
    assert len(found) <= 20
    assert found[-1] == samples.last
    assert found[-1].run == len(runs)
    assert found[-1].seconds == pytest.approx(sum(runs))


def test_a_file_of_any_length_is_small(tmp_path: Path) -> None:
    large = Sample(1.9e9, 10_000, 1e8 + 0.25, *[10**12] * 7)
    line = tmp_path / "line"
    Samples(line, 5.0).append(large)
    longest = 0
    samples = Samples(tmp_path / NAME, 5.0)
    for number in range(10_000):
        samples.append(sample(5.0 * number))
        longest = max(longest, samples._count)
    assert len(read(tmp_path / NAME)) == samples._count
    assert longest * line.stat().st_size < 1_000_000
    assert list(tmp_path.glob("*.new")) == []


@given(cut=st.integers(1, 500))
def test_a_torn_line_costs_one_sample(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("history") / NAME
    fill(path, 10)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    lines = whole[:-cut].count(b"\n") + (whole[-cut:].startswith(b"\n"))
    assert read(path) == [sample(5.0 * number) for number in range(lines)]
    Samples(path, 5.0).append(sample(60.0, run=2))
    assert read(path) == [*(sample(5.0 * number) for number in range(lines)), sample(60.0, run=2)]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[1, 2]",
        b'{"time": 1}',
        b"[" * 100_000,
        b'{"time":NaN,"run":1,"seconds":1,"pages":1,"seen":1,"waiting":1,"failed":1,"received":1,"quads":1,"memory":1}',
        b'{"time":1,"run":1,"seconds":"1","pages":1,"seen":1,"waiting":1,"failed":1,"received":1,"quads":1,"memory":1}',
        b'{"time":1,"run":1,"seconds":-1,"pages":1,"seen":1,"waiting":1,"failed":1,"received":1,"quads":1,"memory":1}',
        b'{"time":1,"run":1,"seconds":1e99,"pages":1,"seen":1,"waiting":1,"failed":1,"received":1,"quads":1,"memory":1}',
    ],
    ids=range(10),
)
def test_a_damaged_line_is_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / NAME
    fill(path, 2)
    path.write_bytes(path.read_bytes() + line + b"\n")
    Samples(path, 5.0).append(sample(10.0))
    assert read(path) == [sample(0.0), sample(5.0), sample(10.0)]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write no file beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_the_samples_of_that_time_only(tmp_path: Path) -> None:
    path = tmp_path / NAME
    samples = fill(path, 3)
    for free in (0, 20):
        with files_of_at_most(path.stat().st_size + free), pytest.raises(OSError, match="large"):
            samples.append(sample(15.0))
    assert read(path) == [sample(0.0), sample(5.0), sample(10.0)]
    samples.append(sample(20.0))
    assert read(path) == [sample(0.0), sample(5.0), sample(10.0), sample(20.0)]


def body_lengths(urls: set[str]) -> int:
    total = 0
    for url in urls:
        with urlopen(url) as response:
            total += len(response.read())
    return total


@pytest.mark.slow
def test_a_crawl_and_its_resumption_are_one_history(crawl: Crawl, tmp_path: Path) -> None:
    with running(Parameters(levels=3, pages=4, latency=0.02)) as origin:
        options = {"HISTORY_INTERVAL": 0.1, "POLITENESS_AT_ONCE": 2, "EXTRACT_PROCESSES": 0}
        first = crawl(f"{origin}/", CLOSESPIDER_PAGECOUNT=30, **options)
        halfway = read(tmp_path / "crawl" / NAME)
        second = crawl(f"{origin}/", **options)
        # robots.txt is asked for once: the second run remembers it.
        received = body_lengths({*first.pages, *second.pages, f"{origin}/robots.txt"})
    samples = read(tmp_path / "crawl" / NAME)
    assert samples[: len(halfway)] == halfway
    assert [sample.run for sample in samples] == sorted(sample.run for sample in samples)
    assert (samples[0].run, halfway[-1].run, samples[-1].run) == (1, 1, 2)
    for name in ("time", "seconds", "pages", "seen", "failed", "received", "quads"):
        values = [getattr(sample, name) for sample in samples]
        assert values == sorted(values), f"{name} goes back"
    assert len(samples) > 10
    assert halfway[-1].pages == len(first.pages)
    assert samples[-1].pages == len(first.pages) + len(second.pages) == samples[-1].seen
    assert samples[-1].quads == len(second.quads)
    assert samples[-1].received == received
    assert samples[-1].waiting == 0
    assert 20 < samples[-1].memory < 2_000
    resumed = samples[len(halfway)]
    stopped = resumed.time - halfway[-1].time
    assert resumed.seconds - halfway[-1].seconds < stopped / 2, "a stop is not time spent crawling"


@pytest.mark.slow
def test_a_killed_crawl_keeps_its_samples(crawl: Crawl, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / NAME
    with running(Parameters(levels=3, pages=4, latency=0.02)) as origin:
        command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={origin}/"]
        command += ["-s", "HISTORY_INTERVAL=0.1", "-s", "POLITENESS_DELAY=0.02"]
        command += ["-s", "EXTRACT_PROCESSES=0"]
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None and not (path.exists() and len(read(path)) > 20):
                pass
            process.send_signal(signal.SIGKILL)
        killed = read(path)
        assert process.returncode == -signal.SIGKILL
        crawl(f"{origin}/", HISTORY_INTERVAL=0.1)
    samples = read(path)
    assert len(killed) > 20
    assert samples[: len(killed)] == killed
    assert samples[len(killed)].run == 2
    assert samples[len(killed)].pages >= killed[-1].pages > 0  # with those after the last sample


@pytest.mark.parametrize(
    "settings",
    [
        {"JOBDIR": "crawl", "HISTORY_INTERVAL": "0"},
        {"JOBDIR": "", "HISTORY_INTERVAL": "5"},
        {"HISTORY_INTERVAL": "5"},
    ],
)
def test_no_history_if_none_is_wanted_or_there_is_no_place(settings: dict[str, str]) -> None:
    with pytest.raises(NotConfigured):
        History.from_crawler(Crawler(Spider, settings))


def test_a_history_that_cannot_be_written_is_no_reason_to_stop(
    crawl: Crawl, tmp_path: Path
) -> None:
    (tmp_path / "crawl" / NAME).mkdir(parents=True)
    with running(Parameters(levels=1, pages=4)) as origin:
        found = crawl(f"{origin}/", HISTORY_INTERVAL=0.05)
    assert len(found.pages) == 5
    assert found.output.count("history cannot be written") == 1
    assert "Traceback" not in found.output
