"""Tarantula's Figures 7 to 9: two crawls of the same web over time, ours and one by Heritrix."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from rdfaspider.extensions.history.report import Crawl, plot, summarise
from rdfaspider.extensions.history.samples import NAME, Sample, read
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.benchmarks.results.tables import PROJECT, Table, cpu_of_children, crawl
from tests.benchmarks.speed import programs
from tests.benchmarks.speed.heritrix import Fetch, Heritrix, Progress, version

# Tarantula's line of 2 Mbit/s, in bytes a second, and its threads.
LINE, THREADS = 250_000, 10
DELAY = 1.0
SECONDS, LAST = 150, 60
# With this seed the hosts answer after half a second on average, and none takes two.
WEB = Parameters(
    seed=764,
    hosts=60,
    levels=4,
    pages=8,
    links_inside=20,
    links_across=2,
    sentences=250,
    latency=0.7,
    bandwidth=LINE,
    sitemaps=False,
)
FIGURE = PROJECT / "docs" / "results-tarantula.svg"


def figures_7_to_9(directory: Path) -> Table:
    """Documents a second, URLs discovered and the use of the line over time, beside Heritrix."""
    try:
        programs.PEERS["heritrix"].build()
    except programs.Unavailable as reason:
        raise RuntimeError(str(reason)) from reason
    seeds = [Web(WEB).url(host, 0) for host in range(WEB.hosts)]
    with running(WEB) as proxy:
        ours, our_cpu = _ours(directory / "ours", seeds, proxy)
    with running(WEB) as proxy:
        theirs, their_cpu = _heritrix(directory / "heritrix", seeds, proxy)
    FIGURE.write_text(plot([ours, theirs], LINE), encoding="utf-8")
    figures = [summarise(each) for each in (ours, theirs)]
    shares = [f"{of.bytes_per_second / LINE:.0%}" for of in figures]
    paces = [f"{_last_pace(each.samples):.1f}" for each in (ours, theirs)]
    return Table(
        "Tarantula, Figures 7 to 9: a crawl over time, beside Heritrix",
        ["", "Tarantula", "its Heritrix", "ours", theirs.name],
        [
            ["documents a second", "~2", "~1.5", *(f"{of.pages_per_second:.1f}" for of in figures)],
            [f"documents a second, last {LAST} s", "", "", *paces],
            ["URLs discovered", "", "", *(f"{of.urls:,}" for of in figures)],
            ["bandwidth, of the line", "", "", *shares],
            ["triples stored", "", "", f"{figures[0].triples:,}", ""],
            ["CPU seconds", "", "", f"{our_cpu:,.0f}", f"{their_cpu:,.0f}"],
        ],
        "Tarantula ran for four hours on the web, with ten threads and a line of 2 Mbit/s. Its text has no"
        " other numbers, and calls the bandwidth of both crawlers nearly the same. Here each crawler has"
        f" {SECONDS} seconds of a generated web behind a line of 2 Mbit/s: {WEB.hosts} hosts that answer"
        f" after half a second on average. Both make {THREADS} fetches at a time (ours does not count one"
        " that has waited for two seconds), ask a host once a second at most, obey robots.txt and write WARC"
        " files. Otherwise Heritrix has the profile that it comes with; it extracts no triples. Time starts"
        " with the crawl, not with the program. Ours is drawn from its history, Heritrix from its own logs:"
        " documents and bytes from crawl.log, URLs from progress-statistics.log, which also counts a name, a"
        " robots.txt and an icon for each host. CPU seconds are those of the whole program, with its start."
        f" ![Documents a second, URLs discovered and bandwidth over time]({FIGURE.name})",
    )


def _ours(directory: Path, seeds: list[str], proxy: str) -> tuple[Crawl, float]:
    seedlist = directory.parent / "seeds.txt"
    seedlist.write_text("\n".join(seeds))
    done = crawl(
        directory,
        str(seedlist),
        proxy=proxy,
        CONCURRENT_REQUESTS=THREADS,
        POLITENESS_DELAY=DELAY,
        POLITENESS_AT_ONCE=1,
        POLITENESS_SERVER_DELAY=0,
        FETCH_UNPROVEN_SHARE=1,
        HISTORY_INTERVAL=1,
        ARCHIVE=1,
        CLOSESPIDER_TIMEOUT=SECONDS,
    )
    return Crawl("rdfaspider", _within(SECONDS, read(done.jobdir / NAME))), done.cpu


def _heritrix(directory: Path, seeds: list[str], proxy: str) -> tuple[Crawl, float]:
    directory.mkdir()
    host, port = urlsplit(proxy).netloc.split(":")
    heritrix = Heritrix(
        directory,
        seeds,
        {
            "fetchHttp.httpProxyHost": host,
            "fetchHttp.httpProxyPort": port,
            "crawlController.maxToeThreads": THREADS,
            "disposition.delayFactor": 0,
            "disposition.minDelayMs": round(1e3 * DELAY),
            "crawlLimiter.maxTimeSeconds": SECONDS,
        },
    )
    before = cpu_of_children()
    heritrix.finish(heritrix.start())
    spent = cpu_of_children() - before
    samples = history(heritrix.fetched(), heritrix.progress())
    return Crawl(f"Heritrix {version()}", _within(SECONDS, samples)), spent


def history(fetched: Sequence[Fetch], progress: Sequence[Progress]) -> list[Sample]:
    """Return the history of a crawl from the logs of Heritrix, a sample for each line of counters."""
    done = sorted(fetched)
    times = [fetch.time for fetch in done]
    pages = [0, *accumulate(fetch.is_page for fetch in done)]
    received = [0, *accumulate(fetch.size for fetch in done)]
    samples = []
    for line in progress:
        count = bisect_right(times, line.time)
        samples.append(
            Sample(
                time=line.time,
                run=1,
                seconds=line.time - progress[0].time,
                pages=pages[count],
                seen=line.discovered,
                waiting=line.queued,
                received=received[count],
            )
        )
    return samples


def _within(seconds: float, samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples of the first seconds; a crawl then takes a few more to close."""
    return [sample for sample in samples if sample.seconds <= seconds]


def _last_pace(samples: Sequence[Sample]) -> float:
    last = samples[-1]
    first = next(sample for sample in samples if sample.seconds >= last.seconds - LAST)
    return (last.pages - first.pages) / (last.seconds - first.seconds)
