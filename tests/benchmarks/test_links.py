"""How many links real pages have, and how many pages a crawl misses that follows only the first ones.

    apt-get download python3.11-doc postgresql-doc-15 libboost1.74-doc …
    for package in *.deb; do dpkg-deb -x $package unpacked/${package%%_*}; done
    RDFASPIDER_DOCUMENTATION=unpacked pytest -s tests/benchmarks/test_links.py

Each folder is taken for a site. A crawl of it starts at one of its uppermost index pages, the one that leads
to most, and goes FRONTIER_DEPTH links deep. It follows the first links of a page that are within its scope,
which is the host, and that the default filters admit.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest

from rdfaspider import settings
from rdfaspider.extract import Limits, Options, extract
from rdfaspider.urls import Filters, Traps, normalise

ORIGIN = "http://site.test/"
CAPS = (100, 250, 500, 1000, 2000)
STARTS = 5
EVERY = 10**9

Site = dict[str, tuple[int, list[str]]]
"""By URL of a page: how many different links it has, and those that a crawl may follow."""


def test_links_of_real_pages(capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.environ.get("RDFASPIDER_DOCUMENTATION")
    if not folder:
        pytest.skip("RDFASPIDER_DOCUMENTATION names no folder of sites")
    sites = {path.name: read(path) for path in sorted(Path(folder).iterdir())}
    sites = {name: site for name, site in sites.items() if site}
    with capsys.disabled():
        print()
        print_sizes([count for site in sites.values() for count, _ in site.values()], "all links")
        inside = [len(links) for site in sites.values() for _, links in site.values()]
        print_sizes(inside, "links within the site")
        print(f"\n| site | pages | found | {' | '.join(f'missed at {cap}' for cap in CAPS)} |")
        print("|---|" + "--:|" * (len(CAPS) + 2))
        missed: Counter[int] = Counter()
        for name, site in sites.items():
            found = {cap: reached(site, start_of(site), cap) for cap in (*CAPS, EVERY)}
            losses = [found[EVERY] - found[cap] for cap in CAPS]
            missed.update(dict(zip(CAPS, losses, strict=True)))
            print(f"| {name} | {len(site)} | {found[EVERY]} | {' | '.join(map(str, losses))} |")
        print(f"missed in total: {dict(missed)}")
    assert all(missed[larger] <= missed[cap] for cap, larger in pairwise(CAPS))


def read(folder: Path) -> Site:
    """Return the pages of a folder."""
    files = {
        normalise(f"{ORIGIN}{quote(str(path.relative_to(folder)))}"): path for path in pages(folder)
    }
    options = Options(frozenset(), Limits(links=EVERY, elements=EVERY, body=EVERY), anchors=False)
    filters = Filters(traps=Traps(year=2025))
    site: Site = {}
    for url, path in files.items():
        links = extract(path.read_bytes(), url, options=options).links
        admitted = (filters.admit(index(link)) for link in links if link.startswith(ORIGIN))
        site[url] = len(links), [link for link, reason in admitted if not reason]
    return site


def pages(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix in (".html", ".htm") and path.is_file() and not path.is_symlink():
            yield path


def index(link: str) -> str:
    return f"{link}index.html" if link.endswith("/") else link


def start_of(site: Site) -> str:
    tops = sorted((url for url in site if "index" in url), key=lambda url: url.count("/"))
    return max(tops[:STARTS] or list(site)[:STARTS], key=lambda url: reached(site, url, EVERY))


def reached(site: Site, start: str, cap: int) -> int:
    """Return how many pages a breadth-first crawl finds that follows so many links of each page."""
    seen, level = {start}, [start]
    for _ in range(settings.FRONTIER_DEPTH):
        links = dict.fromkeys(link for url in level for link in site[url][1][:cap])
        level = [url for url in links if url in site and url not in seen]
        seen.update(level)
    return len(seen)


def print_sizes(counts: list[int], what: str) -> None:
    counts.sort()
    percentiles = {
        p: counts[min(len(counts) - 1, len(counts) * p // 100)] for p in (50, 90, 95, 99)
    }
    shares = {cap: sum(count > cap for count in counts) / len(counts) for cap in CAPS}
    print(f"{len(counts):,} pages, {what}: ", end="")
    print(", ".join(f"p{p} {count}" for p, count in percentiles.items()), end="")
    print(
        f", most {counts[-1]}; ", ", ".join(f">{cap} {share:.2%}" for cap, share in shares.items())
    )
