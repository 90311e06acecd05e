"""Crawls of pages that scripts make: what the user finds in the store, and what servers see."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from pyoxigraph import Literal
from warcio.archiveiterator import ArchiveIterator

from tests.conftest import Crawl, Crawler, Scrapy
from tests.rendering.conftest import Forbidden, Serve

RENDERED = {"RENDER": "always", "RENDER_PROCESSES": 1, "EXTRACT_PROCESSES": 0}
ROBOTS = "User-agent: *\nAllow: /\n"


def injected(name: str) -> str:
    """Return a script that gives a page JSON-LD."""
    data = json.dumps({"@id": f"#{name}", "http://schema.org/name": name})
    return (
        'addEventListener("load", () => { const data = document.createElement("script");'
        f' data.type = "application/ld+json"; data.textContent = {data!r};'
        " document.body.append(data); });"
    )


def link(path: str) -> str:
    made = 'const a = document.createElement("a"); a.textContent = "x"; a.href = '
    return f"{{ {made}{json.dumps(path)}; document.body.append(a); }}"


def names(crawled: Crawl) -> set[str]:
    return {
        quad.object.value
        for quad in crawled.quads
        if quad.predicate.value == "http://schema.org/name" and isinstance(quad.object, Literal)
    }


@pytest.mark.parametrize(
    "tls",
    [pytest.param(False, id="http"), pytest.param(True, id="https", marks=pytest.mark.slow)],
)
def test_what_scripts_add_is_stored_and_followed(tls: bool, serve: Serve, crawl: Crawler) -> None:
    site, manager = serve(tls=tls), serve("127.0.0.2", tls=tls)
    site.pages.update(
        {
            "/robots.txt": ROBOTS,
            "/": f"<!doctype html><title>A</title><body><p>raw <img src=/i.png><link rel=stylesheet"
            f' href=/s.css><script>{injected("inline")}</script><script src="{manager.url}/tag.js">'
            f"</script><script>setTimeout(() => {link('/late')}, 2000);"
            f" fetch('/data.json').then(a => a.json()).then(d => {{ {link('/x')} document.body"
            ".lastChild.href = d.link })</script>",
            "/data.json": '{"link": "/fetched"}',
            "/late": f"<body><script>{injected('late')}</script>",
            "/fetched": "<p property='http://schema.org/name'>fetched</p>"
            "<script>location = '/moved'</script>",
            "/moved": f'<script src="{manager.url}/tag.js"></script>moved',
        }
    )
    manager.pages.update({"/robots.txt": ROBOTS, "/tag.js": injected("tag")})
    found = crawl(f"{site.url}/", RESOLVER_ALLOW="127.0.0.2", **RENDERED)
    pages = {url.removeprefix(site.url) for url in found.pages}
    assert pages == {"/", "/late", "/fetched", "/moved"}, found.output
    assert names(found) == {"inline", "tag", "late", "fetched"}
    # Each once: the page itself is not fetched again, the script is shared, the rest not asked for.
    assert sorted(site.asked) == sorted(
        ["/", "/data.json", "/fetched", "/late", "/moved", "/robots.txt"]
    )
    assert sorted(manager.asked) == ["/robots.txt", "/tag.js"]


def test_without_rendering_only_the_raw_page_is_read(serve: Serve, crawl: Crawler) -> None:
    site = serve()
    site.pages["/"] = f"<body><script>{injected('inline')}{link('/late')}</script>"
    found = crawl(f"{site.url}/", EXTRACT_PROCESSES=0)
    assert names(found) == set() and len(found.pages) == 1


def test_robots_txt_of_another_host_is_obeyed(serve: Serve, crawl: Crawler) -> None:
    site, other = serve(), serve("127.0.0.2")
    site.pages["/"] = (
        f'<script src="{other.url}/no/a.js"></script><script src="{other.url}/yes.js"></script>'
    )
    other.pages.update(
        {
            "/robots.txt": "User-agent: *\nDisallow: /no/\n",
            "/no/a.js": injected("forbidden"),
            "/yes.js": injected("allowed"),
        }
    )
    found = crawl(f"{site.url}/", RESOLVER_ALLOW="127.0.0.2", **RENDERED)
    assert names(found) == {"allowed"}
    assert other.asked == ["/robots.txt", "/yes.js"]


@pytest.mark.parametrize(
    "tls",
    [pytest.param(False, id="http", marks=pytest.mark.slow), pytest.param(True, id="https")],
)
def test_no_address_is_reached_that_the_guard_refuses(
    tls: bool, serve: Serve, crawl: Crawler, forbidden: Forbidden
) -> None:
    site, at = serve(tls=tls), forbidden.where
    scheme = site.url.partition(":")[0]
    bad = f"{scheme}://{at}"
    tricks = [
        f"fetch('{bad}/fetch').catch(() => 0)",
        f"new WebSocket('ws{scheme[4:]}://{at}/socket')",
        f"navigator.sendBeacon('{bad}/beacon', 'x')",
        f"new EventSource('{bad}/events')",
        f"open('{bad}/popup')",
        f"new Image().src = '{bad}/image'",
        f"import('{bad}/module.js').catch(() => 0)",
        f"new Worker(URL.createObjectURL(new Blob([\"fetch('{bad}/worker')\"])))",
        f"const p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{at}'}}]}}); p.createDataChannel('y');"
        " p.createOffer().then(o => p.setLocalDescription(o))",
        f"const r = new XMLHttpRequest(); r.open('POST', '{bad}/post'); r.send('x')",
        f"navigator.serviceWorker && navigator.serviceWorker.register('{bad}/service.js')"
        ".catch(() => 0)",
        f"setTimeout(() => location = '{bad}/move', 100)",
    ]
    scripts = "".join(f"<script>{each}</script>" for each in tricks)
    site.pages["/"] = (
        f"<!doctype html><head><link rel=preconnect href={bad}><link rel=dns-prefetch href={bad}>"
        f"<link rel=prefetch href={bad}/prefetch><link rel=stylesheet href={bad}/style.css></head>"
        f"<body><iframe src={bad}/frame></iframe><img src={bad}/i><video src={bad}/v autoplay></video>"
        f"<object data={bad}/o></object><form action={bad}/form></form><script src={bad}/s.js>"
        f"</script><script src=/redirect.js></script>{scripts}<script>{injected('end')}</script>"
    )
    found = crawl(f"{site.url}/", **RENDERED)
    assert names(found) == {"end"}, found.output
    assert not forbidden.touched()
    for each in (forbidden.tcp, forbidden.udp):  # who comes would be seen
        with socket.socket(socket.AF_INET, each.type) as other:
            other.connect(each.getsockname())
            other.send(b"x")
            assert forbidden.touched()


def test_the_archive_has_both_and_a_replay_needs_no_browser(
    serve: Serve, crawl: Crawler, scrapy: Scrapy, tmp_path: Path
) -> None:
    site = serve()
    site.pages["/"] = f"<title>raw</title><body><script>{injected('inline')}</script>"
    found = crawl(f"{site.url}/", ARCHIVE=1, STORE_PROVENANCE=1, **RENDERED)
    assert names(found) == {"inline"}
    is_rendered = "<urn:rdfaspider:rendered>"
    assert sum(is_rendered in str(quad.predicate) for quad in found.quads) == 1
    (path,) = (tmp_path / "crawl" / "archive").glob("*.warc.gz")
    with path.open("rb") as file:
        records = {
            each.rec_type: (each.rec_headers, each.content_stream().read())
            for each in ArchiveIterator(file)
            if each.rec_headers.get_header("WARC-Target-URI") == f"{site.url}/"
        }
    conversion, document = records["conversion"]
    response, body = records["response"]
    assert conversion.get_header("WARC-Refers-To") == response.get_header("WARC-Record-ID")
    assert body.decode() == site.pages["/"]
    assert document.startswith(b"<html>") and b'type="application/ld+json"' in document
    quads = scrapy("archive", f"{site.url}/", "--quads", JOBDIR="crawl").stdout
    assert '"inline"' in quads
    assert scrapy("archive", "--check", JOBDIR="crawl").returncode == 0
    done = scrapy("replay", JOBDIR="crawl", STORE_PROVENANCE=1)
    assert "1 page read again, 1 triple; 0 graphs are new or changed" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_page_that_cannot_be_rendered_is_read_as_it_came(serve: Serve, crawl: Crawler) -> None:
    site = serve()
    raw = '<p property="http://schema.org/name">raw</p><a href="/next">x</a>'
    site.pages["/"] = f"<body>{raw}<script>for (;;) {{}}</script>"
    site.pages["/next"] = f"<body><script>{injected('next')}</script>"
    found = crawl(f"{site.url}/", **RENDERED, RENDER_TIMEOUT=8)
    assert names(found) == {"raw", "next"}
    assert "1 page rendered: 1 triple and 0 links more; 1 page could not be" in found.output


@pytest.mark.slow
def test_a_host_rests_for_each_request_of_a_page(serve: Serve, crawl: Crawler) -> None:
    site = serve()
    site.pages["/"] = "<a href=/next>x</a><script>fetch('/a.json'); fetch('/b.json')</script>"
    site.pages.update({"/a.json": "{}", "/b.json": "{}", "/next": "next"})
    delay = 1.5
    found = crawl(
        f"{site.url}/",
        **RENDERED,
        POLITENESS_DELAY=delay,
        POLITENESS_AT_ONCE=1,
        POLITENESS_OFF_FOR_OWN_SERVERS=0,
    )
    assert len(found.pages) == 2, found.output
    times = dict(zip(site.asked, site.times, strict=True))
    last = max(times["/a.json"], times["/b.json"])
    assert times["/next"] - last >= 3 * delay


@pytest.mark.slow
def test_auto_renders_what_has_scripts_that_make_data(serve: Serve, crawl: Crawler) -> None:
    site = serve()
    made = [f"/made/{number}" for number in range(6)]
    plain = [f"/plain/{number}" for number in range(12)]
    site.pages["/"] = "".join(f"<a href={path}>x</a>" for path in (*made, *plain))
    for path in made:
        site.pages[path] = f'<body><div id="root"></div><script>{injected(path)}</script>'
    for path in plain:
        site.pages[path] = f"<p property='http://schema.org/name'>{path}</p>"
    found = crawl(f"{site.url}/", **{**RENDERED, "RENDER": "auto"}, POLITENESS_AT_ONCE=1)
    rendered = names(found) - {*plain}
    assert names(found) >= {*plain} and len(rendered) >= 4
    assert f"  {len(rendered)} pages rendered: {len(rendered)} triples" in found.output


def test_one_page_is_rendered_without_a_crawl(
    serve: Serve, scrapy: Scrapy, forbidden: Forbidden
) -> None:
    site = serve()
    site.pages["/tag.js"] = injected("tag")
    site.pages["/"] = (
        f"<body><script src=/tag.js></script><script src=http://{forbidden.where}/x.js></script>"
    )
    assert '"tag"' not in scrapy("extract", f"{site.url}/").stdout
    done = scrapy("extract", f"{site.url}/", "--render")
    assert '"tag"' in done.stdout, done.stderr
    assert not forbidden.touched()
