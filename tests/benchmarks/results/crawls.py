"""What papers say of whole crawls: KSpider's Figure 11, WIRE's 1,000 sites at once, Tarantula's mining."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path
from typing import Any

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.benchmarks.results.tables import Table, crawl
from tests.benchmarks.results.thesis import counter
from tests.benchmarks.results.webs import served

# KSpider measured one to four machines with 50 and 300 threads each; the text has the last number only.
FIGURE_11 = Parameters(seed=7, hosts=2_000, levels=1, pages=5, links_across=12, latency=1.0)
SECONDS = 25


def figure_11(directory: Path) -> Table:
    """Pages a second by workers and by fetches at once."""
    seeds = ",".join(Web(FIGURE_11).url(host, 0) for host in range(600))
    rows = []
    with running(FIGURE_11) as proxy:
        for workers, at_once in product((1, 2), (50, 300)):
            done = crawl(
                directory / f"{workers} {at_once}",
                seeds,
                proxy=proxy,
                scope="all",
                WORKERS=workers,
                CONCURRENT_REQUESTS=at_once,
                CLOSESPIDER_TIMEOUT=SECONDS,
                PROGRESS_INTERVAL=1,
                **_ANY_HOST,
            )
            pages = counter(done.log, "frontier/done/page")
            pace = steady_pace(done.log)
            rows.append(
                [str(workers), str(at_once), "", f"{pace:,.0f}", f"{pages / done.cpu:,.0f}"]
            )
    rows.append(["4", "300", "618", "", ""])
    return Table(
        "KSpider, Figure 11: pages a second by machines and threads",
        ["machines, workers", "threads, fetches at once", "KSpider", "ours", "pages a CPU second"],
        rows,
        "KSpider's text names the last number, for four machines, but not its threads; we take it for the"
        " faster of both. It says that speed grows with threads and with machines, and that at nearly 300"
        " threads the CPU is used up. Ours has worker processes on one machine in place of machines, each"
        " with that many fetches at once. The web is generated, of 2,000 hosts that answer after a second on"
        " average and have no delay; its server takes CPU of the same machine. The pace is that of the last"
        f" eight of {SECONDS} seconds.",
    )


def steady_pace(log: str, seconds: int = 8) -> float:
    """Return the pages a second at the end of a crawl, by its progress lines, one a second."""
    lines = re.findall(r"^(\d\d):(\d\d):(\d\d) INFO ([\d,]+) pages ", log, re.MULTILINE)
    points = [
        (int(h) * 3600 + int(m) * 60 + int(s), int(pages.replace(",", "")))
        for h, m, s, pages in lines
    ]
    if not points:
        raise RuntimeError("the crawl has no progress")
    end, last = points[-1]
    begin, first = next(point for point in points if (end - point[0]) % 86_400 <= seconds)
    if begin == end:
        raise RuntimeError("the crawl was too short")
    return (last - first) / ((end - begin) % 86_400)


SITES = 1_500
DELAY = 4.0  # seconds before an answer
AT_ONCE = 1_000
_ANY_HOST: dict[str, Any] = {"FETCH_UNPROVEN_SHARE": 1, "POLITENESS_SERVER_DELAY": 0}


def wire(directory: Path) -> Table:
    """Sites from which one process downloads at the same time."""
    pages = {f"http://w{number}.test/": "<p>a page</p>" for number in range(SITES)}
    seeds = directory / "seeds.txt"
    seeds.write_text("\n".join(pages))
    with served(pages, DELAY) as web:
        done = crawl(
            directory / "crawl",
            str(seeds),
            proxy=web.url,
            CONCURRENT_REQUESTS=AT_ONCE,
            EXTRACT_PROCESSES=0,
            **_ANY_HOST,
        )
    found = counter(done.log, "frontier/done/page")
    memory = counter(done.log, "memusage/max") / 1e6
    return Table(
        "WIRE, section 2.2: sites at once",
        ["", "sites at once", "pages", "seconds", "CPU seconds", "memory"],
        [
            ["WIRE", "over 1,000", "", "", "", "1 GB in the machine"],
            [
                *(
                    "ours",
                    f"{web.most:,}",
                    f"{found:,}",
                    f"{done.seconds:,.0f}",
                    f"{done.cpu:,.0f}",
                ),
                f"{memory:,.0f} MB",
            ],
        ],
        f"One process crawls {SITES:,} sites with `CONCURRENT_REQUESTS={AT_ONCE}`, one connection to each."
        f" Each has a robots.txt and a page, and answers after {DELAY:g} s. The server counts the requests"
        " that wait for their answer at once; a fetch that has waited for two seconds no longer counts"
        " against the setting. WIRE's memory is that of its machine.",
    )


NUMBERED, FOLDERS = 30, 6


def mining(directory: Path) -> Table:
    """Pages that nobody links to, found by guessing."""
    rows = []
    for name, share in (("numbered", 0.9), ("numbered", 0.5), ("numbered", 0.1), ("named", 0.5)):
        pages = _site(name, share)
        cells = []
        for guesses in (0, 20):
            with served(pages) as web:
                done = crawl(
                    directory / f"{name} {share} {guesses}",
                    "http://mine.test/",
                    proxy=web.url,
                    FRONTIER_GUESSES=guesses,
                    EXTRACT_PROCESSES=0,
                )
            cells += [f"{counter(done.log, 'frontier/done/page'):,}", f"{web.missed:,}"]
        rows.append([f"{name} pages", f"{share:.0%}", f"{len(pages):,}", *cells])
    return Table(
        "Tarantula, sections 2 and 5.1: mining URLs",
        [
            *("site", "pages with a link", "pages", "found without", "fetched in vain"),
            *("found with mining", "fetched in vain"),
        ],
        rows,
        "Tarantula has no number of its own for this: its Figure 8 shows mining and speed together. Ours are"
        f" sites of {FOLDERS} folders with {NUMBERED} pages each, `/pics1/Page1.html`, to some of which no"
        " link leads, crawled without and with `FRONTIER_GUESSES=20`. What mining finds depends on the"
        " site: where"
        " names have no numbers, only folders are found, and guessing stops. The made-up sites show what it"
        " can do, not how often it pays on the web.",
    )


def _site(name: str, share: float) -> dict[str, str]:
    """Return the pages of a site; its front page links to a share of them, and to no folder."""
    chance = random.Random(1)
    pages = {}
    for folder in range(1, FOLDERS + 1):
        pages[f"http://mine.test/pics{folder}/"] = "a folder"
        for number in range(1, NUMBERED + 1):
            word = f"Page{number}" if name == "numbered" else _word(chance)
            pages[f"http://mine.test/pics{folder}/{word}.html"] = f"page {word} of {folder}"
    leaves = [url for url in pages if not url.endswith("/")]
    linked = chance.sample(leaves, round(share * len(leaves)))
    front = "".join(f"<a href='{url}'>x</a>" for url in linked)
    return {"http://mine.test/": front, **pages}


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8))
