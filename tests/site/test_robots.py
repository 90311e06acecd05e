from __future__ import annotations

import pytest
from protego import Protego

from rdfaspider.site import robots
from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web

STRICT = Web(
    Parameters(hosts=20, levels=2, pages=12, disallowed=0.4, agent="rdfaspider", crawl_delay=2.5)
)


@pytest.mark.parametrize("agent", ["rdfaspider", "otherbot"])
def test_the_text_says_what_the_answers_say(agent: str) -> None:
    denied = 0
    for host in range(20):
        url = f"{STRICT.origin(host)}/robots.txt"
        rules = Protego.parse(answer(STRICT, url).body.decode())
        assert rules.crawl_delay(agent) == 2.5
        assert list(rules.sitemaps) == [f"{STRICT.origin(host)}/sitemap.xml"]
        for index in range(STRICT.tree.count):
            page = STRICT.url(host, index)
            assert rules.can_fetch(page, agent) == robots.allows(STRICT, page, agent)
            denied += not rules.can_fetch(page, agent)
    assert 0.3 < denied / (20 * STRICT.tree.count) < 0.5


def test_a_named_agent_has_rules_of_its_own() -> None:
    pages = [STRICT.url(0, index) for index in range(STRICT.tree.count)]
    for agent in ("rdfaspider", "RDFaSpider"):
        own = [robots.allows(STRICT, url, agent) for url in pages]
        assert own != [robots.allows(STRICT, url, "*") for url in pages]


def test_roots_and_robots_are_always_allowed() -> None:
    for host in range(20):
        assert robots.allows(STRICT, STRICT.url(host, 0))
        assert robots.allows(STRICT, f"{STRICT.origin(host)}/robots.txt")


def test_a_clean_host_forbids_nothing() -> None:
    body = answer(Web(Parameters(sitemaps=False)), "http://a/robots.txt").body
    assert body == b"User-agent: *\nDisallow:\n"


def test_hosts_without_robots_allow_all_and_broken_ones_nothing() -> None:
    web = Web(Parameters(hosts=300, disallowed=1.0, robots_missing=0.3, robots_broken=0.3))
    found = {200: 0, 404: 0, 500: 0}
    for host in range(300):
        status = answer(web, f"{web.origin(host)}/robots.txt").status
        found[status] += 1
        assert robots.allows(web, web.url(host, 1)) == (status == 404)
        assert robots.allows(web, web.url(host, 0)) == (status != 500)
        assert robots.allows(web, f"{web.origin(host)}/robots.txt")
    assert all(count > 60 for count in found.values())
