from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.test import get_crawler

from rdfaspider.items import Page
from rdfaspider.spiders.rdfa import RdfaSpider
from rdfaspider.spiders.scope import DomainHosts
from tests.hostile import OK, addresses, crawl, name_of, serving, with_robots

if TYPE_CHECKING:
    from tests.hostile import Web


def test_the_first_hosts_of_a_domain_are_admitted() -> None:
    domains = DomainHosts(most=3)
    names = [f"h{number}.example.com" for number in range(5)]
    assert [domains.admits(name) for name in names] == [True] * 3 + [False] * 2
    assert [domains.admits(name) for name in names] == [True] * 3 + [False] * 2
    assert domains.admits("h9.example.org")


def test_the_domain_itself_and_addresses_are_always_admitted() -> None:
    domains = DomainHosts(most=1)
    assert domains.admits("www.example.com")
    assert domains.admits("example.com")
    assert not domains.admits("a.example.com")
    assert all(domains.admits(f"192.0.2.{number}") for number in range(9))


def test_blogs_at_one_service_have_owners_of_their_own() -> None:
    domains = DomainHosts(most=1)
    assert all(domains.admits(f"blog{number}.blogspot.com") for number in range(9))
    assert domains.admits("a.blog1.blogspot.com")
    assert not domains.admits("b.blog1.blogspot.com")


def test_domains_that_were_not_seen_for_long_are_forgotten() -> None:
    domains = DomainHosts(most=1, domains=2)
    for name in ("a.one.com", "a.two.com", "a.one.com", "a.three.com"):
        assert domains.admits(name)
    assert not domains.admits("b.one.com")
    assert domains.admits("b.two.com"), "it begins anew"
    assert len(domains._hosts) == 2


def test_hosts_that_only_the_link_graph_knows_take_no_place() -> None:
    spider = RdfaSpider(seeds="http://seed.test/", scope="all")
    spider.crawler = get_crawler(RdfaSpider)
    spider.keeps_graph, spider.domain_hosts = True, DomainHosts(most=1)
    nofollow = ["http://ads.example.com/", "http://more.example.com/"]
    page = Page("http://seed.test/", 0, nofollow=nofollow, canonical="http://old.example.com/")
    assert spider.follow(page) == ([], [])
    assert page.beside == {"nofollow": nofollow, "canonical": "http://old.example.com/"}
    page = Page("http://seed.test/2", 0, links=["http://www.example.com/", nofollow[0]])
    assert spider.follow(page) == (["http://www.example.com/"], [0])


def test_a_domain_with_any_number_of_hosts_gets_no_more_than_its_share(tmp_path: Path) -> None:
    """Each page links to hosts that nobody has seen before, and to a page of its own host."""
    hosts = addresses(5, 60)
    names = [name_of(address, "wild.lan") for address in hosts]
    web: Web

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        links = [f"http://{name}:{web.port}/" for name in names] + ["/more"]
        body = "".join(f"<a href='{link}'>x</a>" for link in links).encode()
        client.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    with serving(dict.fromkeys(hosts, with_robots(answer))) as web:
        seeds = [f"http://{name}:{web.port}/" for name in names[-2:]]
        crawled = crawl(
            tmp_path,
            seeds,
            "-a",
            "scope=all",
            POLITENESS_DELAY=0.1,
            FRONTIER_DOMAIN_HOSTS=10,
        )
    visited = {visit.address for visit in web.visits}
    assert visited == {*hosts[:10], *hosts[-2:]}
    assert {visit.address for visit in web.visits if visit.path == "/more"} == visited
    assert "links to a host beyond the limit of its domain: FRONTIER_DOMAIN_HOSTS=10" in (
        crawled.output
    )
