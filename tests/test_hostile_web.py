"""A handful of good hosts among one of each hostile kind: the good ones lose nothing, and all is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.hostile import addresses, crawl, hostile, name_of, serving
from tests.losses import fetched, gaps, stored

GOOD = Parameters(seed=3, hosts=5, addresses=5, levels=2, pages=4)
DELAY = 0.2
LEFT_OUT = (
    "pages that are too large: DOWNLOAD_MAXSIZE=16777216",
    "pages cut at their first bytes: EXTRACT_MAX_BYTES=5000000",
    "a parser: EXTRACT_MEMORY_MB=150",
    "4 links to ports of services other than the web",
    "URLs whose robots.txt could not be fetched: ROBOTS_RETRIES=0",
)
FAILED = (
    "broken answers",
    "not answered in time",
    "not complete in time",
    "too large",
    "cut short",
    "1 with status 404",
)


@pytest.mark.slow
def test_good_hosts_among_one_of_each_hostile_kind(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.touch()
    web, oracle = Web(GOOD), Oracle(Web(GOOD))
    with running(GOOD, log=log) as origin:
        port = origin.rpartition(":")[2]
        good = [web.url(host, 0, f":{port}") for host in range(GOOD.hosts)]
        kinds = hostile(victim=f"{good[0]}robots.txt?of=others")
        hosts = dict(zip(addresses(3, len(kinds)), kinds.values(), strict=True))
        with serving(hosts) as bad:
            seeds = [f"http://{name_of(each, 'bad.com')}:{bad.port}/" for each in hosts]
            crawled = crawl(
                tmp_path,
                [*seeds, *good, "http://nowhere.slow3.com/"],
                POLITENESS_DELAY=DELAY,
                POLITENESS_BACKOFF=0.5,
                ROBOTS_RETRIES=0,
                FETCH_CONNECT_TIMEOUT=2,
                FETCH_FIRST_BYTE_TIMEOUT=2,
                DOWNLOAD_TIMEOUT=3,
                EXTRACT_TIMEOUT=8,
                EXTRACT_MEMORY_MB=150,
                EXTRACT_PROCESSES=2,
            )
    assert crawled.code == 0, crawled.output
    reach = oracle.reachable(good, 99)
    assert stored(tmp_path / "crawl" / "store") == {
        quad for url in reach.pages for quad in oracle.triples(url)
    }
    asked = fetched(log)
    assert asked.keys() - reach.fetched.keys() == {f"{good[0]}robots.txt?of=others"}
    assert all(len(times) == 1 for times in asked.values())
    assert min(gaps(log)) >= DELAY, "the victim's too"
    assert not set("\x1b\x07") & set(crawled.output)
    assert crawled.megabytes < 500
    check_summary(crawled.output, len(reach.fetched))


def check_summary(output: str, good: int) -> None:
    """Check that the sum adds up and every reason is told."""
    found = re.search(
        r"(\d+) URLs = (\d+) done \+ (\d+) failed \+ (\d+) denied \+ 0 waiting", output
    )
    assert found, output
    seen, done, failed, denied = map(int, found.groups())
    assert seen == done + failed + denied
    assert done >= good
    for words in (*LEFT_OUT, *FAILED):
        assert words in output, f"{words}\n{output}"
