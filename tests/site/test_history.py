from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import pairwise, product
from statistics import mean, stdev
from urllib.request import Request, urlopen

import pytest

from rdfaspider.site.answers import Conditions, answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.pages.markup import render
from rdfaspider.site.parameters import FORMATS, Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.site.conftest import Read

CHANGING = Parameters(hosts=40, levels=2, pages=5, changing=1.0, period=100.0, spread=1.0)
LEAVING = Parameters(
    hosts=3, levels=2, pages=20, vanishing=0.3, moving=0.3, returning=0.5, life=1000.0
)


def test_changes_of_a_page_come_at_random_at_its_own_rate() -> None:
    web = Web(replace(CHANGING, hosts=1))
    gaps = []
    for index in range(web.tree.count):
        period = web.history.period(0, index)
        revisions = {web.history.revision(0, index, at * period / 20) for at in range(2000)}
        times = sorted(web.history.changed(0, index, revision) for revision in revisions)
        gaps += [(after - before) / period for before, after in pairwise(times)]
    # Those closer together than a step of this look are not seen.
    assert mean(gaps) == pytest.approx(1.05, abs=0.05)
    assert stdev(gaps) == pytest.approx(1.0, abs=0.1)  # exponential, not regular


def test_rates_are_spread_over_hosts_sections_and_pages() -> None:
    web = Web(CHANGING)
    periods = [
        web.history.period(host, index) for host in range(40) for index in range(web.tree.count)
    ]
    assert max(periods) / min(periods) > 1000
    first, second = ([web.history.period(host, 0) for host in range(40)] for _ in range(2))
    assert first == second
    assert len(set(first)) == 40


def test_a_version_lasts_from_its_change_to_the_next() -> None:
    web = Web(CHANGING)
    for index in range(1, 6):
        revisions = [web.history.revision(7, index, float(at)) for at in range(0, 3000, 7)]
        assert revisions == sorted(revisions)
        for revision in set(revisions) - {0}:
            changed = web.history.changed(7, index, revision)
            assert web.history.revision(7, index, changed + 1e-6) == revision
            assert web.history.revision(7, index, changed - 1e-6) < revision


def test_the_oracle_knows_the_triples_at_any_time(readers: dict[str, Read]) -> None:
    web = Web(replace(CHANGING, moving=0.5, life=300.0, feeds=True))
    oracle, versions = Oracle(web), set()
    for index, at in product(range(5), (0.0, 400.0, 2000.0, 9000.0)):
        url = web.url(3, index)
        place = oracle.redirect(url, at) or url
        page = oracle.page(place, at)
        assert page
        reply = answer(web, place, at)
        assert reply.body == render(page)
        found = readers[page.format](reply.body, place)
        triples = oracle.triples(place, FORMATS, at)
        assert {(q.subject, q.predicate, q.object) for q in found} == {
            (q.subject, q.predicate, q.object) for q in triples
        }
        versions.add(triples)
    assert len(versions) >= 15


def test_pages_vanish_and_some_come_back() -> None:
    web = Web(replace(LEAVING, moving=0.0))
    oracle, statuses = Oracle(web), Counter[tuple[int, ...]]()
    for url in oracle.urls():
        at = (0.0, 800.0, 1e6)
        statuses[tuple(answer(web, url, moment).status for moment in at)] += 1
        for moment in at:
            left = oracle.left(url, moment)
            assert (left is None) == oracle.exists(url, moment)
            assert left is None or (not oracle.exists(url, left) and oracle.exists(url, left - 1))
    # Roots and most others stay; of the rest half are away by then, a third of them for good.
    assert statuses[200, 200, 200] > 250
    assert statuses[200, 404, 200] > 5
    assert statuses[200, 404, 404] > 10
    assert statuses[200, 410, 410] > 5
    assert set(statuses) <= {(200, x, y) for x in (200, 404, 410) for y in (200, 404, 410)}


def test_pages_move_and_some_come_back() -> None:
    web = Web(replace(LEAVING, vanishing=0.0))
    oracle, seen = Oracle(web), Counter[str]()
    for url in oracle.urls():
        target = oracle.redirect(url, 900.0)
        if target is None:
            assert answer(web, f"{url}?moved", 900.0).status in (404, 410)
            continue
        assert answer(web, url, 900.0).status in (301, 302, 307, 308)
        assert target == f"{url}?moved"
        assert answer(web, target, 900.0).body == answer(web, url, 0.0).body
        assert oracle.triples(target, FORMATS, 900.0)
        assert not oracle.triples(url, FORMATS, 900.0)
        seen["back" if oracle.exists(url, 1e6) else "away"] += 1
        if oracle.exists(url, 1e6):
            assert oracle.left(target, 1e6)
    assert seen["back"] > 20
    assert seen["away"] > 20
    assert sorted(oracle.urls(at=900.0)) != sorted(oracle.urls())


def test_a_web_that_leaves_nothing_is_as_before() -> None:
    web = Web(Parameters(levels=2))
    assert answer(web, "http://a/books?moved", 1e9).status == 404
    assert list(Oracle(web).urls(at=1e9)) == list(Oracle(web).urls())


def honesty(parameters: Parameters) -> Counter[str]:
    """Count the hosts by what their validators say of a page that changed, and of one that did not."""
    web, seen = Web(parameters), Counter[str]()
    for host in range(parameters.hosts):
        first = dict(answer(web, web.url(host, 1), 0.0).headers)
        if "ETag" not in first:
            seen["silent"] += 1
            continue
        conditions = Conditions(first["ETag"])
        later = 30 * web.history.period(host, 1)
        changed = answer(web, web.url(host, 1), later, conditions).status
        still = answer(web, web.url(host, 1), 1e-9, conditions).status
        seen[f"{still} {changed}"] += 1
    return seen


def test_validators_follow_the_content_or_lie() -> None:
    many = replace(CHANGING, hosts=300)
    assert honesty(many) == {"304 200": 300}
    mixed = honesty(replace(many, validators=0.5, lying_validators=0.4))
    assert 110 < mixed["silent"] < 190
    assert mixed["304 304"] > 10  # never changes
    assert mixed["304 200"] > 60


def test_restless_validators_change_where_the_page_does_not() -> None:
    web = Web(replace(CHANGING, hosts=100, changing=0.0, lying_validators=1.0, slot=5.0))
    kinds = Counter(
        answer(web, url, 6.0, Conditions(dict(answer(web, url).headers)["ETag"])).status
        for url in (web.url(host, 1) for host in range(100))
    )
    assert kinds[200] > 30
    assert kinds[304] > 30


def lastmods(web: Web, host: int, at: float) -> dict[str, str]:
    text = answer(web, f"{web.origin(host)}/sitemap.xml", at).body.decode()
    return dict(re.findall("<loc>(.*?)</loc><lastmod>(.*?)</lastmod>", text))


def test_sitemaps_date_their_pages_truly_or_not() -> None:
    at, kinds = 5000.0, Counter[str]()
    web = Web(replace(CHANGING, hosts=200, lastmod=0.8, lying_lastmod=0.3, vanishing=0.2))
    for host in range(200):
        dates = lastmods(web, host, at)
        if not dates:
            kinds["none"] += 1
        elif len(set(dates.values())) == 1:
            kinds["equal"] += 1
        else:
            kinds["true"] += 1
            assert dates.keys() == set(Oracle(web).urls(host, at=at))
            url, index = web.url(host, 0), 0
            changed = web.history.changed(host, index, web.history.revision(host, index, at))
            shown = time.gmtime(web.history.date(changed))
            assert dates[url].startswith(time.strftime("%Y-%m-%dT%H:%M:%S", shown))
    assert kinds["none"] > 20
    assert kinds["equal"] > 30
    assert kinds["true"] > 90
    assert b"lastmod" not in answer(Web(CHANGING), "http://a/sitemap.xml", at).body


def test_a_feed_has_the_latest_changes() -> None:
    web = Web(replace(CHANGING, feeds=True))
    reply = answer(web, f"{web.origin(2)}/feed.xml", 5000.0)
    assert reply.content_type == "application/atom+xml"
    links = re.findall('<link href="(.*?)"/><updated>(.*?)</updated>', reply.body.decode())
    assert len(links) == 20
    assert [date for _, date in links] == sorted((date for _, date in links), reverse=True)
    assert links[0][0] in set(Oracle(web).urls(2, at=5000.0))
    assert b'href="/feed.xml"' in answer(web, web.url(2, 0), 5000.0).body
    assert answer(Web(CHANGING), "http://a/feed.xml").status == 404


def test_time_runs_as_fast_as_told_from_when_the_web_began() -> None:
    began = time.time() - 100.0
    parameters = replace(CHANGING, hosts=1, speed=50.0, began=began, max_age=7.0)
    web = Web(parameters)
    with running(parameters) as url:
        before = (time.time() - began) * 50.0
        with urlopen(Request(f"{url}/books")) as reply:
            body, headers = reply.read(), reply.headers
        after = (time.time() - began) * 50.0
    page = f"{url}/books"
    versions = {answer(web, page, before + i * (after - before) / 50).body for i in range(51)}
    assert body in versions
    assert answer(web, page, 0.0).body not in versions
    assert headers["Cache-Control"] == "max-age=7"
    changed = parsedate_to_datetime(headers["Last-Modified"]).timestamp()
    assert began - 1 <= changed <= time.time()
