"""How the benchmarks drive Heritrix and read its logs: tests/benchmarks/speed/heritrix.py."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from rdfaspider.extensions.history.report import Crawl, summarise
from tests.benchmarks.results.peer import history
from tests.benchmarks.speed import heritrix
from tests.benchmarks.speed.heritrix import Fetch, Heritrix, Progress, version

PROFILE = """<beans>
metadata.operatorContactUrl=ENTER_AN_URL
metadata.jobName=basic
<prop>http://example.example/example</prop>
</beans>"""
# A java that crawls two pages of one host, unless it is told to fail at the start or at the end.
PROGRAM = """#!/bin/sh
test "$FAILING" != start || { echo no such bean; exit 1; }
echo "$@" >arguments
mkdir -p jobs/crawl/20260101000000/logs && cd jobs/crawl/20260101000000/logs
cat >crawl.log <<END
2026-01-01T00:00:01.250Z  1001         53 dns:a.test P http://a.test/ text/dns #001 - - - -
2026-01-01T00:00:01.500Z   200         24 http://a.test/robots.txt P http://a.test/ text/plain #001 - - - -
2026-01-01T00:00:02.000Z   200       4000 http://a.test/ - - text/html #002 - - - -
2026-01-01T00:00:02.500Z   404         10 http://a.test/favicon.ico I - text/html #002 - - - -
2026-01-01T00:00:03.000Z    -2          - http://a.test/lost L - unknown #002 - - - -
2026-01-01T00:00:04.000Z   200       2000 http://a.test/b L http://a.test/ text/html #001 - - - -
END
cat >progress-statistics.log <<END
           timestamp  discovered      queued   downloaded       doc/s(avg)
2026-01-01T00:00:00Z           0           0            0           0(NaN)
2026-01-01T00:00:00Z CRAWL RUNNING - Running
2026-01-01T00:00:02Z           5           2            3           2(1.50)
2026-01-01T00:00:04Z           6           0            6           1(1.50)
2026-01-01T00:00:04Z CRAWL ENDED - Finished
END
test "$FAILING" != end || { echo no space left; exit 1; }
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library, programs, place = (tmp_path / name for name in ("library", "programs", "place"))
    for path in (library, programs, place):
        path.mkdir()
    with zipfile.ZipFile(library / "heritrix-engine-9.13.jar", "w") as jar:
        jar.writestr(heritrix.PROFILE, PROFILE)
    (programs / "java").write_text(PROGRAM)
    (programs / "java").chmod(0o755)
    monkeypatch.setattr(heritrix, "LIBRARY", library)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return place


def crawled(place: Path) -> Heritrix:
    seeds = ["http://a.test/?b=1&c=2", "http://d.test/"]
    job = Heritrix(place, seeds, {"disposition.minDelayMs": 1000})
    job.finish(job.start())
    return job


def test_a_job_is_the_profile_with_other_settings_and_seeds(place: Path) -> None:
    crawled(place)
    lines = (place / "jobs" / "crawl" / "crawler-beans.cxml").read_text().splitlines()
    assert "ENTER_AN_URL" not in " ".join(lines)
    assert {"disposition.minDelayMs=1000", "crawlController.pauseAtStart=false"} < set(lines)
    assert lines[-3:] == ["<prop>http://a.test/?b=1&amp;c=2", "http://d.test/</prop>", "</beans>"]
    names = (place / "hosts").read_text().splitlines()
    assert sorted(names) == ["127.0.0.1 a.test", "127.0.0.1 d.test"]
    arguments = (place / "arguments").read_text()
    assert f"-Djdk.net.hosts.file={place}/hosts" in arguments
    assert "-b 127.0.0.1 " in arguments
    assert (place / "password").read_text().strip().partition(":")[2] not in arguments
    assert version() == "9.13"


def test_its_logs_are_read(place: Path) -> None:
    job = crawled(place)
    fetches = job.fetched()
    assert len(fetches) == 6
    assert [fetch.url for fetch in fetches if fetch.is_page] == [
        "http://a.test/",
        "http://a.test/b",
    ]
    assert [fetch.size for fetch in fetches[-2:]] == [0, 2000]
    start = job.progress()[0].time
    assert [(line.time - start, *line[1:]) for line in job.progress()] == [
        (0, 0, 0),
        (2, 5, 2),
        (4, 6, 0),
    ]


@pytest.mark.parametrize(("step", "words"), [("start", "no such bean"), ("end", "no space left")])
def test_a_job_that_fails_says_why(
    place: Path, step: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILING", step)
    with pytest.raises(RuntimeError, match=words):
        crawled(place)


def test_its_history_is_drawn_like_that_of_a_crawl() -> None:
    page, robots = "text/html", "text/plain"
    fetches = [
        Fetch(13.0, 200, 3000, "http://a.test/c", page),
        Fetch(11.0, 200, 24, "http://a.test/robots.txt", robots),
        Fetch(12.0, 200, 1000, "http://a.test/", page),
        Fetch(12.5, 404, 10, "http://a.test/b", page),
    ]
    progress = [Progress(10.0, 0, 0), Progress(12.0, 4, 2), Progress(14.0, 5, 1)]
    samples = history(fetches, progress)
    counts = [(s.seconds, s.pages, s.received, s.seen, s.waiting) for s in samples]
    assert counts == [(0, 0, 0, 0, 0), (2, 1, 1024, 4, 2), (4, 2, 4034, 5, 1)]
    figures = summarise(Crawl("Heritrix", samples))
    assert (figures.pages_per_second, figures.urls) == (0.5, 5)
    assert figures.bytes_per_second == 4034 / 4
