from __future__ import annotations

from collections import Counter
from email.utils import parsedate_to_datetime
from statistics import mean

import pytest

from rdfaspider.site.answers import Conditions, SiteAnswer, answer, latency
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web


def answers(web: Web, at: float = 0.0) -> dict[str, SiteAnswer]:
    """Return the answers for all pages of the first host."""
    urls = (web.url(0, index) for index in range(web.tree.count))
    return {url: answer(web, url, at) for url in urls}


@pytest.mark.parametrize(("fate", "status"), [("missing", 404), ("broken", 500)])
def test_errors_last(fate: str, status: int) -> None:
    web = Web(Parameters(levels=2, pages=20, **{fate: 0.3}))  # type: ignore[arg-type]
    now, later = (Counter(reply.status for reply in answers(web, at).values()) for at in (0, 9999))
    assert now == later
    assert 90 < now[status] < 160


def test_redirects_lead_to_pages_here_and_elsewhere() -> None:
    web = Web(Parameters(hosts=5, levels=2, pages=20, redirected=0.5, missing=0.3))
    statuses, across = Counter[int](), 0
    for url, reply in answers(web).items():
        if 300 <= reply.status < 400:
            [(name, location)] = reply.headers
            assert name == "Location"
            target = location if location[0] == "h" else "http://w0.site.test" + location
            assert target != url
            assert answer(web, target).status == 200
            across += location[0] == "h"
            statuses[reply.status] += 1
    assert set(statuses) == {301, 302, 307, 308}
    assert 20 < across < 80


def test_loops_come_back() -> None:
    web = Web(Parameters(looping=1.0))
    for path, location in (("/books", "/books?again"), ("/books?again", "/books")):
        reply = answer(web, f"http://a{path}")
        assert 301 <= reply.status <= 308
        assert reply.headers == (("Location", location),)
    assert answer(web, "http://a/?again").status == 404


def test_duplicates_are_equal_to_the_byte() -> None:
    web = Web(Parameters(levels=2, pages=20, duplicated=0.5))
    bodies = Counter(reply.body for reply in answers(web).values())
    fates = Counter(web.fate(0, index) for index in range(web.tree.count))
    assert sum(count - 1 for count in bodies.values()) == fates["duplicated"] > 150


def test_passing_faults_pass() -> None:
    web = Web(Parameters(levels=2, pages=10, unavailable=0.5, slot=5.0))
    for url in answers(web):
        statuses = [answer(web, url, slot * 5.0).status for slot in range(20)]
        assert set(statuses) == {200, 503}
        assert answer(web, url, 1.0).status == answer(web, url, 4.9).status


def test_throttled_hosts_say_when_to_come_back() -> None:
    web = Web(Parameters(hosts=200, throttled=0.4, slot=30.0))
    throttled = 0
    for host in range(200):
        replies = [answer(web, web.url(host, index), 12.5) for index in range(3)]
        assert len({reply.status for reply in replies}) == 1
        if replies[0].status == 429:
            throttled += 1
            assert replies[0].headers == (("Retry-After", "18"),)
            assert answer(web, f"{web.origin(host)}/robots.txt", 12.5).status == 200
    assert 50 < throttled < 110


def test_what_a_client_has_is_not_sent_again() -> None:
    web = Web(Parameters(changing=1.0, period=100.0))
    first = answer(web, "http://a/books", 0.0)
    headers = dict(first.headers)
    for conditions in (
        Conditions(etag=headers["ETag"]),
        Conditions(etag=f'"other", {headers["ETag"]}'),
        Conditions(modified=headers["Last-Modified"]),
    ):
        again = answer(web, "http://a/books", 0.0, conditions)
        assert (again.status, again.body, again.headers) == (304, b"", first.headers)
        assert answer(web, "http://a/books", 100.0, conditions).status == 200
    # An entity tag wins over a date.
    both = Conditions('"other"', headers["Last-Modified"])
    assert answer(web, "http://a/books", 0.0, both).status == 200


def test_pages_tell_when_they_changed() -> None:
    web = Web(Parameters(changing=1.0, period=100.0))
    dates = [
        parsedate_to_datetime(dict(answer(web, "http://a/books", at).headers)["Last-Modified"])
        for at in (0.0, 1000.0)
    ]
    assert 900 <= (dates[1] - dates[0]).total_seconds() <= 1000


def test_delivery_can_be_slow_or_broken_but_not_for_roots() -> None:
    web = Web(Parameters(levels=2, pages=20, slow=0.3, slow_seconds=2.0, dropped=0.3))
    replies = answers(web)
    assert 90 < sum(reply.trickle == 2.0 for reply in replies.values()) < 160
    assert 90 < sum(reply.cut for reply in replies.values()) < 160
    root = replies["http://w0.site.test/"]
    assert not root.trickle
    assert not root.cut


def test_hosts_have_their_own_latency() -> None:
    web = Web(Parameters(hosts=2000, latency=0.2))
    latencies = [latency(web, host) for host in range(2000)]
    assert mean(latencies) == pytest.approx(0.2, abs=0.02)
    assert min(latencies) < 0.01
    assert max(latencies) > 1
    assert answer(web, web.url(7, 3)).delay == latencies[7]
    assert answer(web, f"{web.origin(7)}/robots.txt").delay == latencies[7]
