"""Files parsed and URLs matched per second, beside Protego, the parser that Scrapy uses.

    pytest tests/benchmarks/test_robots.py -s

Machines differ and are shared, so ratios within one run are asserted: at least Protego's speed in
both, and ten times that where a file has very many rules.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from protego import Protego

from rdfaspider.robots import Robots

FILES = 400
URLS = 10  # of a file
ROUNDS = 7  # of which the best counts
AGENT = "rdfaspider"
WORDS = (
    "admin search private cgi-bin tmp user login cart checkout wp-admin includes modules feed tag"
    " print archive category node api ajax images product profile calendar forum member download"
)
NAMES = "Googlebot Bingbot AhrefsBot SemrushBot MJ12bot GPTBot CCBot Yandex Baiduspider Slurp"

Site = tuple[bytes, list[str]]


def path(random: Random) -> str:
    words = random.choices(WORDS.split(), k=random.randint(1, 3))
    return "/" + "/".join(f"{word}{random.choice(('', '', '', '-2', '.php'))}" for word in words)


def rule(random: Random) -> str:
    """Return a rule: 75 % plain prefixes, the rest with wildcards, an end, a query, an escape."""
    start = path(random)
    forms = (start, start + "/", f"/*{start}", f"/*?{start[1:]}=", f"{start}*$", f"{start}%7E")
    [form] = random.choices(forms, weights=(45, 30, 8, 10, 5, 2))
    return f"{'Allow' if random.random() < 0.15 else 'Disallow'}: {form}"


def group(random: Random, names: list[str]) -> Iterator[str]:
    yield from (f"User-agent: {name}" for name in names)
    # As on the web, most groups are short and a few are very long.
    yield from (rule(random) for _ in range(min(500, int(random.paretovariate(0.9) * 4))))
    if random.random() < 0.2:
        yield f"Crawl-delay: {random.randint(1, 20)}"
    yield ""


def file(random: Random) -> bytes:
    lines = ["# robots.txt of a site", "#", ""]
    lines += group(random, ["*"])
    for _ in range(random.choice((0, 0, 1, 3))):
        lines += group(random, random.sample(NAMES.split(), random.randint(1, 3)))
    lines.append("Sitemap: https://www.example.com/sitemap.xml")
    return "\n".join(lines).encode()


def url(random: Random) -> str:
    query = random.choice(("", "", "", "?page=2", "?search=a%20b"))
    return f"https://www.example.com{path(random)}/{random.randint(1, 99)}.html{query}"


@pytest.fixture(scope="module")
def generated() -> list[Site]:
    random = Random(9309)
    return [(file(random), [url(random) for _ in range(URLS)]) for _ in range(FILES)]


@pytest.fixture(scope="module")
def external(vectors: Path) -> list[Site]:
    """Return the files of the test vectors, each with all URLs that are asked of it."""
    sites: dict[str, set[str]] = {}
    for case in json.loads((vectors / "robots.json").read_text(encoding="utf-8")):
        if case["url"]:
            sites.setdefault(case["robots"], set()).add(case["url"])
    return [(body.encode(), sorted(urls)) for body, urls in sites.items()]


def protego_parse(body: bytes) -> Protego:
    return Protego.parse(body.decode("utf-8-sig", "ignore"))


def compare(sites: list[Site]) -> dict[str, tuple[float, float]]:
    """Return ours and Protego's operations a second, taken in turns: both meet the same load."""
    ours = [Robots(body, AGENT) for body, _ in sites]
    theirs = [protego_parse(body) for body, _ in sites]
    work: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "parse": (
            lambda: [Robots(body, AGENT) for body, _ in sites],
            lambda: [protego_parse(body) for body, _ in sites],
        ),
        "match": (
            lambda: [
                r.allows(url) for r, (_, urls) in zip(ours, sites, strict=True) for url in urls
            ],
            lambda: [
                p.can_fetch(url, AGENT)
                for p, (_, urls) in zip(theirs, sites, strict=True)
                for url in urls
            ],
        ),
    }
    counts = {"parse": len(sites), "match": sum(len(urls) for _, urls in sites)}
    rates = {}
    for name, (mine, other) in work.items():
        rounds = [(seconds(mine), seconds(other)) for _ in range(ROUNDS)]
        rates[name] = (
            counts[name] / min(mine for mine, _ in rounds),
            counts[name] / min(other for _, other in rounds),
        )
    return rates


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # whose garbage is collected when would be chance
    start = time.perf_counter()
    work()
    taken = time.perf_counter() - start
    gc.enable()
    return taken


def show(title: str, rates: dict[str, tuple[float, float]]) -> None:
    print(f"\n{title:34} {'ours':>10} {'Protego':>10} {'ratio':>7}")
    for name, (ours, theirs) in rates.items():
        print(f"{name + ' per second':34} {ours:10,.0f} {theirs:10,.0f} {ours / theirs:7.2f}")


@pytest.mark.parametrize("corpus", ["generated", "external"])
def test_speed(corpus: str, request: pytest.FixtureRequest) -> None:
    sites: list[Site] = request.getfixturevalue(corpus)
    rates = compare(sites)
    octets = sum(len(body) for body, _ in sites)
    show(f"{len(sites)} files {corpus}, {octets // 1024} KiB", rates)
    assert all(ours >= theirs for ours, theirs in rates.values())


def test_very_many_rules() -> None:
    random = Random(20_000)
    prefixes = [f"Disallow: {path(random)}/{number}/" for number in range(20_000)]
    body = "\n".join(("User-agent: *", *prefixes)).encode()
    asked = [url(random) for _ in range(10_000)]
    ours, theirs = Robots(body, AGENT, limit=len(body)), protego_parse(body)
    few = asked[:20]
    rate = len(asked) / seconds(lambda: [ours.allows(url) for url in asked])
    their_rate = len(few) / seconds(lambda: [theirs.can_fetch(url, AGENT) for url in few])
    show("20,000 rules, 10,000 URLs", {"match": (rate, their_rate)})
    assert rate > 10 * their_rate
