"""Tables 2 to 8 of the RDFa Web Spider, measured like for like where the thesis says how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from unittest.mock import patch

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.queue import MOST_OF_A_HOST, Diversity
from rdfaspider.robots import Robots
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from tests import test_table4
from tests.benchmarks.results.tables import Table, crawl, stopwatch
from tests.benchmarks.test_frontier import NO_LIMITS, urls
from tests.conftest import FATES, read_fates
from tests.robots.test_robots import TABLE_3, THESIS

TABLE_2 = [(100, 10), (1_000, 50), (10_000, 100), (100_000, 1_000), (1_000_000, 1_000)]
# What is switched off in a column of the table, without a delay.
NO_THRESHOLD = (
    patch.object(Diversity, "quota", lambda self, now: MOST_OF_A_HOST),
    patch.object(Diversity, "fair", lambda self, quota, waiting, are_all: quota),
)
NO_SPREAD = (
    patch("rdfaspider.frontier.schedule.queue.spread", lambda hosts: [*range(len(hosts))]),
)
SWITCHED_OFF = ((), NO_SPREAD, NO_THRESHOLD, NO_SPREAD + NO_THRESHOLD)


def even(count: int, rate: int) -> Iterator[list[str]]:
    """Yield the URLs of each second: all in the first, as many of each host."""
    yield [f"http://h{number % rate}.test/{number // rate}" for number in range(count)]
    yield from ([] for _ in range(count // rate - 1))


def uneven(count: int, rate: int) -> Iterator[list[str]]:
    """Yield the URLs of each second: one of each host, but of the first many at the start."""
    for second in range(count // rate):
        others = [f"http://h{host}.test/{second}" for host in range(1, rate)]
        first = [] if second else [f"http://h0.test/{number}" for number in range(count // 2)]
        yield first + others


def table_2(
    directory: Path,
    wanted: slice = slice(4),
    inputs: Sequence[Callable[[int, int], Iterator[list[str]]]] = (even, uneven),
) -> Table:
    """URLs in and out of the queue, and the least diverse second."""
    measured = []
    for urls_of, (count, rate) in product(inputs, TABLE_2[wanted]):
        name, batches = urls_of.__name__, [*urls_of(count, rate)]
        place = directory / f"{name} {count}"
        out, peak = queue(place / "delay", batches, rate, delay=1.0)
        peaks = [peak]
        for number, patches in enumerate(SWITCHED_OFF):
            with ExitStack() as stack:
                for each in patches:
                    stack.enter_context(each)
                peaks.append(queue(place / str(number), batches, rate, delay=0.0)[1])
        expected = f"{1 / rate:g}"
        row = [name, f"{sum(map(len, batches)):,}", f"{rate:,}", expected]
        row += [expected if urls_of is even else "", f"{out:,}", *(f"{each:g}" for each in peaks)]
        measured.append(row)
    return Table(
        f"Thesis, Table 2: the queue{', with a million URLs' if wanted.start else ''}",
        [
            *("input", "URLs in", "takes a second", "expected", "thesis: peak"),
            *("ours: URLs out", "peak, with a delay", "threshold and spread"),
            *("threshold alone", "spread alone", "neither"),
        ],
        measured,
        "Peak diversity is the share of the most frequent host among the URLs of one second, at its"
        " worst; there are as many hosts as takes a second. With a delay of one second the politeness clock"
        " parts the URLs of a host. The last four columns are without a delay, with the two means of the"
        " thesis: the threshold limits the share of a host in a page, and spreading parts its URLs within"
        " the page. Even input has as many URLs of each host, as in the thesis, all at the start. Up to 100"
        " takes a second spreading does everything there, since no page has more of one host than of"
        " another; at 1,000 a page has only 256 of the hosts, and the threshold leaves each one URL in it."
        " Of uneven input, one host has half as many URLs at the start as are taken, and each other host gets"
        " one a second: there the threshold matters at every rate. Without it a host has up to 20 URLs in a"
        " page. The thesis has five rows; the last, of a million URLs, takes minutes (`table2-million`, with"
        " even input only).",
    )


def queue(
    directory: Path, batches: Iterable[list[str]], rate: int, *, delay: float
) -> tuple[int, float]:
    """Put URLs in second by second; return how many come out, each once, and the peak diversity."""
    peak, seen = 0.0, set()
    with LocalFrontier(
        str(directory), politeness=Politeness(delay=delay), limits=NO_LIMITS
    ) as frontier:
        for second, urls in enumerate(batches):
            for start in range(0, len(urls), 1_000):
                frontier.put(urls[start : start + 1_000])
            hosts: Counter[int] = Counter()
            for turn in range(rate):
                now = second + (0.0 if delay else turn / rate)
                taken = frontier.take(now)
                if taken is None:
                    continue
                frontier.finish(taken, "done", now)
                hosts[taken.host] += 1
                seen.add(taken.url)
            if hosts:
                peak = max(peak, max(hosts.values()) / hosts.total())
    return len(seen), peak


# The URLs of the figures, and the order in which the XTrie gives them out.
FIGURE_9 = ["http://abc/1", "http://edc/2", "http://edc/3", "http://xyz/4"]
FIGURE_11 = ["http://abc/1", "http://xyz/4", "http://edc/2", "http://edc/3"]


def figures_9_to_11(directory: Path) -> Table:
    """In which order the URLs of an XTrie come out: as they are, and with the nodes of the figure."""
    ours = _round_robin(directory / "figures", FIGURE_9)
    nodes = _round_robin(directory / "nodes", [as_nodes(url) for url in FIGURE_9])
    rows = zip(FIGURE_11, nodes, ours, strict=True)
    return Table(
        "Thesis, Figures 9 to 11: the XTrie",
        ["request", "thesis", "ours, the same nodes", "ours, the same URLs"],
        [[str(number), *(f"`{url}`" for url in row)] for number, row in enumerate(rows, 1)],
        "Four URLs are put in the order of Figure 9, and taken one by one (`FRONTIER_ORDER=roundrobin`). In"
        " the thesis a node is a character, and hosts are branches like their paths, from their last"
        " character on. With the same nodes, written as the labels of names, ours come in the same order."
        " With the same URLs they do not, because how a label is spelt says nothing about its turn: `abc` and"
        " `edc` share the node `c` in the thesis, so `xyz` comes between them. In both orders no host is"
        " asked twice in a row while another waits. Figures 10 and 11 draw three requests, of which the text"
        " names the first (node 6, `abc/1`); the others are what its pseudo code gives.",
    )


def as_nodes(url: str) -> str:
    """Return a URL whose labels are the nodes of the thesis: the characters of the host."""
    host, _, page = url.removeprefix("http://").partition("/")
    return f"http://{'.'.join(host)}/{page}"


def _round_robin(directory: Path, urls: list[str]) -> list[str]:
    taken_in_order = []
    with LocalFrontier(
        str(directory), order="roundrobin", politeness=Politeness(delay=0.0)
    ) as frontier:
        frontier.put(urls)
        while (taken := frontier.take(0.0)) is not None:
            frontier.finish(taken, "done", 0.0)
            taken_in_order.append(taken.url)
    return taken_in_order


def table_3(directory: Path) -> Table:
    """Which paths robots.txt allows."""
    rows = [
        [
            *(str(row), agent, f"`{path}`", _word(expected)),
            _word(Robots(THESIS, agent).allows(f"http://example.com{path}")),
        ]
        for row, agent, path, expected in TABLE_3
    ]
    return Table(
        "Thesis, Table 3: robots.txt",
        ["row", "agent", "path", "thesis: may be crawled", "ours"],
        rows,
        "The first two differ because RFC 9309, which is younger than the thesis, has a rule match what"
        " begins with it: `/bad` does not begin with `/bad/`, and `/base` with no rule of the file as"
        " printed. Section 2.4.2 of the thesis describes rules in the same way.",
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "no"


TABLE_4 = [
    ("page with a delay of 30 s", "/delay-30", "timeout"),
    ("page with a delay of 29 s", "/delay-29", "downloaded"),
    ("page of 10 MB", "/large", "downloaded at 11.5 MB/s of 12"),
    ("PDF", "/pdf", "not wanted"),
    ("image", "/image", "not wanted"),
    ("page of 2 kB", "/small", "downloaded"),
]
_OUTCOMES = {
    "done/page": "downloaded",
    "done/type": "not wanted",
    "failed/DownloadTimeoutError": "timeout",
}


def table_4(directory: Path) -> Table:
    """What is downloaded, and how fast."""
    with test_table4.server() as origin:
        crawl(
            directory / "crawl",
            ",".join(origin + path for path in test_table4.ANSWERS),
            FEEDS=FATES,
        )
        plain, ours = test_table4.download_rates(origin)
    fates = dict(read_fates(directory / "crawl" / "fates.csv"))
    rows = []
    for name, path, thesis in TABLE_4:
        fate = fates.get(origin + path, "missing")
        found = _OUTCOMES.get(fate, fate)
        if path == "/large":
            found += f" at {ours:,.0f} MB/s of {plain:,.0f}"
        rows.append([name, thesis, found])
    return Table(
        "Thesis, Table 4: downloads",
        ["page", "thesis", "ours"],
        rows,
        "The thesis had a line of 100 Mbit/s. Ours is the loopback of the machine, and beside it the speed"
        " of a bare socket, the best of ten each.",
    )


_NAMESPACE = '<html xmlns="http://www.w3.org/1999/xhtml">'
_HEADS = {
    "XHTML 1.0 Transitional": (
        f'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x">{_NAMESPACE}'
    ),
    "HTML 4.01 Strict": '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN"><html>',
    "XHTML + RDFa": f'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN" "x">{_NAMESPACE}',
}
# Whether the page is valid, its links, and how many of these the thesis found, for each markup alike.
TABLE_5 = [(True, 1, 1), (True, 100, 100), (True, 200, 100), (False, 100, 100)]


def table_5(directory: Path) -> Table:
    """Links of pages with and without faults."""
    options = Options(limits=Limits(links=100))
    rows = []
    for markup, head in _HEADS.items():
        for valid, links, thesis in TABLE_5:
            page = (_valid if valid else _invalid)(head, links)
            found = len(extract(page.encode(), "http://a.test/", "text/html", options).links)
            rows.append([markup, _word(valid), str(links), str(thesis), str(found)])
    return Table(
        "Thesis, Table 5: links",
        ["markup", "valid", "links on the page", "thesis: found", "ours"],
        rows,
        "Extraction stops at 100 links here, as in the thesis. A crawl follows 2,000 of a page by default,"
        " counted after scope and filters (`EXTRACT_MAX_LINKS`). The pages are made here: those of the thesis"
        " are not printed.",
    )


def _anchors(count: int) -> list[str]:
    return [f'<a href="/page{number}">{number}</a>' for number in range(count)]


def _valid(head: str, links: int) -> str:
    body = "".join(_anchors(links))
    return f"{head}<head><title>t</title></head><body><p>{body}</p></body></html>"


def _invalid(head: str, links: int) -> str:
    """Return a page with links in its head and after its end, and elements that are not closed."""
    anchors, third = _anchors(links), links // 3
    middle = "<i>".join(anchors[third : 2 * third])
    return (
        f"{head}<head>{''.join(anchors[:third])}<body><p><b><div>{middle}</html>"
        f"{''.join(anchors[2 * third :])}"
    )


# Milliseconds for 1,000, 10,000 and 100,000 entries: the fastest and the slowest of the thesis.
TABLE_6 = {"HDD C++ BCM": (155, 2_149, 28_004), "MFS C": (6_038, 57_511, 810_152)}


def table_6(directory: Path) -> Table:
    """Entries written and checked, one by one and in one batch."""
    rows = [[f"thesis: {name}", *(f"{each:,}" for each in ms)] for name, ms in TABLE_6.items()]
    for name, each in (("one by one", 1), ("links of a page, 40 at a time", 40), ("one batch", 0)):
        cells = []
        for count in (1_000, 10_000, 100_000):
            keys = list(dict.fromkeys(urls(count)))
            took, spent = written_and_checked(directory, keys, each)
            cells.append(f"{1e3 * took:,.0f} ({1e3 * spent:,.0f})")
        rows.append([f"ours: {name}", *cells])
    return Table(
        "Thesis, Table 6: the URL cache",
        ["ms to write and check", "1,000", "10,000", "100,000"],
        rows,
        "Each entry is written, and then checked; in brackets the CPU time of the same run, with all threads."
        " HDD and ours are on a local disk, MFS is a distributed file system. Ours survives a kill after each"
        " put; the two of the thesis are flushed after each write. It has ten more variants between them.",
    )


def written_and_checked(directory: Path, keys: list[str], at_once: int) -> tuple[float, float]:
    """Return the seconds, and those of CPU, to write keys, some at once (0 for all), and look up each."""
    path = directory / f"{len(keys)} {at_once}"
    step = at_once or len(keys)
    with LocalFrontier(str(path), limits=NO_LIMITS) as frontier, stopwatch() as taken:
        for start in range(0, len(keys), step):
            frontier.put(keys[start : start + step])
        frontier.wait(0.0)
        if not all(key in frontier.trie for key in keys):
            raise AssertionError("a key is missing")
    return taken[0], taken[1]


PAGES = {1: 2, 2: 7, 3: 40, 4: 341, 5: 3_906}
# Pages and triples found, by levels and triples of a page, where the thesis prints others than these.
FOUND = {(2, n): (8, 8 * n) for n in range(4)} | {(1, 2): (2, 8)}


def table_7(directory: Path, sizes: Sequence[int] = (1, 2, 3, 4)) -> Table:
    """Pages and triples of generated sites."""
    rows = []
    for triples in range(4):
        for size in sizes:
            found = _site(directory / f"{size} {triples}", size, triples)
            made = PAGES[size], PAGES[size] * triples
            thesis = FOUND.get((size, triples), made)
            rows.append([f"{each:,}" for each in (*made, *thesis, *found)])
    return Table(
        f"Thesis, Table 7: accuracy{', the largest sites' if 5 in sizes else ''}",
        [
            *("pages", "triples", "thesis: pages found", "triples found"),
            *("ours: pages found", "triples found"),
        ],
        rows,
        "A site of n levels has n pages below each page; the first two columns are computed. The thesis"
        " found 8 pages on sites of two levels, and prints 7 as generated in three rows of these and 8 in"
        " one; on two pages of two triples it generated and found 8. It has five sites; those of 3,906 pages"
        " are measured apart (`table7-largest`).",
    )


def _site(directory: Path, size: int, triples: int) -> tuple[int, int]:
    """Crawl a site; return its pages by the counter of the crawl, and the triples in its store."""
    parameters = Parameters(
        seed=triples, levels=size, pages=size, triples=triples, rdfa=1, jsonld=0, microdata=0
    )
    with running(parameters) as origin:
        done = crawl(directory, f"{origin}/")
    with open_store(str(done.jobdir / "store"), read_only=True) as store:
        return counter(done.log, "frontier/done/page"), store.count()


def counter(log: str, name: str) -> int:
    """Return a counter from the stats in a log."""
    found = re.search(rf"'{re.escape(name)}': (\d+)", log)
    return int(found[1]) if found else 0


# Nodes and cache, depth; pages, triples, seconds, pages a second.
TABLE_8 = [
    ["thesis, 23 nodes, MFS", "5", "193,618", "47,158", "2,558", "76", ""],
    ["thesis, 23 nodes, HDD", "5", "259,008", "73,061", "2,140", "121", ""],
    ["thesis, 23 nodes, MFS", "6", "", "", "", "stopped: slow", ""],
    ["thesis, 23 nodes, HDD", "6", "1,832,157", "301,219", "12,214", "150", ""],
]


def table_8(directory: Path) -> Table:
    """Pages a second of a whole crawl."""
    rows = list(TABLE_8)
    one = Parameters(seed=3, levels=5, pages=4, triples=3)
    many = Parameters(seed=3, hosts=16, levels=3, pages=4, triples=3)
    for web, workers in product((one, many), (1, 2)):
        name = f"{web.hosts} host{'s' if web.hosts > 1 else ''}, {workers} worker{'s' if workers > 1 else ''}"
        with running(web) as origin:
            seeds = [Web(web).url(host, 0) for host in range(web.hosts)]
            done = crawl(directory / name, ",".join(seeds), proxy=origin, WORKERS=workers)
        pages = counter(done.log, "frontier/done/page")
        triples = counter(done.log, "store/quads")
        figures = (pages, triples, done.seconds, pages / done.seconds, pages / done.cpu)
        rows.append([f"ours, {name}", str(web.levels), *(f"{each:,.0f}" for each in figures)])
    return Table(
        "Thesis, Table 8: a whole crawl",
        ["", "depth", "pages", "triples", "seconds", "pages/s", "pages a CPU second"],
        rows,
        "The thesis crawled the web from the site of a university on, and downloaded 20, 30 and 150 GB. Ours"
        " is a generated web of small pages, whose server is on the same machine, from the start of the"
        " command to its end; the CPU time is that of all processes of the crawl, without the server. With"
        " two workers a page of so short a crawl costs more CPU time than with one: there are more processes"
        " to start, and each page also passes through the one that has the frontier. How much either of"
        " these costs was not measured. Hosts have no delay, where the thesis asks each about once a second"
        " at most. All workers together keep to the limit of a host, here 16 pages at once, each of which is"
        " held until it is stored. Crawls by workers and depth are"
        " [below](#service-workers-and-depth), a long one is in [speed.md](speed.md).",
    )


def gigabytes(directory: Path) -> Table:
    """Crawls of small and of large pages without delays, by one process and by two workers."""
    small = Parameters(seed=3, hosts=8, levels=5, pages=4)
    large = Parameters(seed=3, hosts=16, levels=5, pages=4, sentences=1000)
    rows = []
    for web, workers in product((small, large), (1, 2)):
        seeds = ",".join(Web(web).url(host, 0) for host in range(web.hosts))
        with running(web) as proxy:
            name = f"{web.sentences} {workers}"
            done = crawl(directory / name, seeds, proxy=proxy, WORKERS=workers)
        pages, size = (counter(done.log, name) for name in ("frontier/done/page", "fetch/bytes"))
        rows.append(
            [
                f"{size / pages / 1e3:.1f} kB, {'one process' if workers == 1 else 'two workers'}",
                *(f"{pages:,}", f"{size / 1e9:.2f}", f"{done.seconds:,.0f}"),
                *(f"{pages / done.seconds:,.0f}", f"{size / done.seconds / 1e6:.1f}"),
                f"{done.cpu / pages * 1e3:.1f}",
            ]
        )
    return Table(
        "Gigabytes, by one process and by workers without delays",
        ["pages of", "pages", "GB", "seconds", "pages/s", "MB/s", "CPU ms a page"],
        rows,
        "The thesis downloaded 20, 30 and 150 GB from the web. These are generated webs without delays, from"
        " the start of the command to its end. The server of the web and all processes of the crawl share the"
        " cores of one machine, so that two workers cannot be twice as fast as one process, which shares"
        " them with its store and the server. CPU time is that of all processes of the crawl,"
        " without the server. Two workers take more of it, because pages and URLs pass between processes. How"
        " much faster they are depends on what else the machine does: where much else runs, two processes get"
        " more of it than one; on a quiet machine two workers were slower for small pages (Table 8).",
    )
