"""URLs per second, joined to their page, normalised and filtered.

    pytest tests/benchmarks/test_urls.py -s

Machines differ and are shared, so ratios within one run are asserted, and one absolute line: at
least 150,000 URLs a second joined and normalised with the base parsed once a page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from urllib.parse import urljoin

import ada_url
import pytest
from w3lib.url import canonicalize_url

from rdfaspider.urls import Filters, Joiner, Traps, normalise

PAGES = 400
LINKS = 50  # of a page
ROUNDS = 5  # of which the best counts
WORDS = (
    "news article products about contact-us the-quick-brown-fox images archive category item"
    " index.html view.php blog wiki Main_Page profile en 2024 11 p17 search tag"
)

Page = tuple[str, list[str]]


def path(random: Random) -> str:
    escaped = "/caf%c3%a9" if random.random() < 0.03 else ""
    return "/".join(random.choices(WORDS.split(), k=random.randint(1, 5))) + escaped


def query(random: Random) -> str:
    if random.random() < 0.8:
        return ""
    names = random.choices(("id", "page", "q", "sort", "utm_source", "sid"), k=random.randint(1, 4))
    return "?" + "&".join(f"{name}={random.randint(1, 9999)}" for name in names)


def origin(random: Random) -> str:
    return f"https://www.site{random.randint(1, 500)}.example.{random.choice(('org', 'com', 'de'))}"


def href(random: Random) -> str:
    """Return a link: 35 % absolute, 40 % from the root, 20 % from the folder, 5 % in the page."""
    [kind] = random.choices("arfp", weights=(35, 40, 20, 5))
    if kind == "a":
        return f"{origin(random)}/{path(random)}{query(random)}"
    if kind == "r":
        return f"/{path(random)}{query(random)}"
    if kind == "f":
        return f"{random.choice(('', '', '', '../'))}{path(random)}{query(random)}"
    return random.choice(("#top", "?page=2"))


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    random = Random(17)
    return [
        (f"{origin(random)}/{path(random)}", [href(random) for _ in range(LINKS)])
        for _ in range(PAGES)
    ]


def with_w3lib(base: str, hrefs: list[str]) -> None:
    for link in hrefs:
        canonicalize_url(urljoin(base, link))


def with_ada(base: str, hrefs: list[str]) -> None:
    for link in hrefs:
        ada_url.join_url(base, link)


def one_by_one(base: str, hrefs: list[str]) -> None:
    for link in hrefs:
        normalise(link, base)


def joined(base: str, hrefs: list[str]) -> None:
    joiner = Joiner(base)
    for link in hrefs:
        joiner.join(link)


def joined_and_admitted(base: str, hrefs: list[str]) -> None:
    joiner = Joiner(base)
    for link in hrefs:
        FILTERS.admit(joiner.join(link))


FILTERS = Filters(traps=Traps(year=2025))


def urls_per_second(work: Callable[[str, list[str]], None], pages: list[Page]) -> float:
    return PAGES * LINKS / min(seconds(work, pages) for _ in range(ROUNDS))


def seconds(work: Callable[[str, list[str]], None], pages: list[Page]) -> float:
    start = time.perf_counter()
    for base, hrefs in pages:
        work(base, hrefs)
    return time.perf_counter() - start


def test_speed(pages: list[Page]) -> None:
    rates = {
        work.__name__: urls_per_second(work, pages)
        for work in (with_w3lib, with_ada, one_by_one, joined, joined_and_admitted)
    }
    print()
    for name, rate in rates.items():
        print(f"{name.replace('_', ' '):22} {rate:10,.0f} URLs/s")
    assert rates["joined"] > 150_000
    assert rates["joined"] > rates["with_ada"]
    assert rates["joined"] > 5 * rates["with_w3lib"]
    assert rates["joined_and_admitted"] > 2 * rates["with_w3lib"]
