"""Every knob of a generated web, and its option on a command line: `links_inside` is --links-inside.

The defaults give a small, clean site without faults or traps.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from rdfaspider.site.pages.words import LANGUAGES

Value = TypeVar("Value")

FORMATS = ("rdfa", "jsonld", "microdata")

# A page has at most one of these fates, so their shares may not exceed the whole.
FATES = ("missing", "broken", "dropped", "redirected", "looping", "duplicated", "similar")
# Those of pages that show another page, and of pages that can be seen.
COPIES = ("duplicated", "similar")
SEEN = ("", *COPIES)

# What the scripts of pages do (pages/scripts.py): they add data or links, they add nothing to what the server
# sends, or they are hard on browsers.
ADDING = ("injected", "manager", "router", "late", "external")
IDLE = ("hydrated", "tracker", "ornament")
HOSTILE = ("endless", "greedy", "framed", "consent")
SCRIPTS = (*ADDING, *IDLE, *HOSTILE)

# The most of anything on one page.
_MOST = 10_000


def knob(default: Value, reason: str, *, share: bool = False) -> Value:
    """Declare one parameter with its reason, which is also its line of help."""
    return field(default=default, metadata={"reason": reason, "share": share})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The whole description of a generated web; equal parameters make equal webs.

    Shares are between 0 and 1. A wrong value raises ValueError with a sentence.
    """

    seed: int = knob(0, "another seed is another web of the same shape")
    hosts: int = knob(1, "number of hosts, named w0, w1, … under the domain")
    domain: str = knob("site.test", "what host names end in")
    addresses: int = knob(1, "loopback addresses the hosts share, host i at address i mod N")

    levels: int = knob(3, "levels of pages below the root of each host")
    pages: int = knob(4, "child pages of each page that is above the last level")
    links_inside: int = knob(2, "more links from each page to pages of its host")
    links_across: int = knob(1, "links from each page to pages of other hosts, if there are any")

    triples: int = knob(3, "triples on each page that carries any")
    rdfa: float = knob(0.6, "share of pages with RDFa", share=True)
    jsonld: float = knob(0.25, "share of pages with JSON-LD", share=True)
    microdata: float = knob(0.15, "share of pages with Microdata", share=True)
    skew: float = knob(0.0, "how unevenly hosts and sections share the triples", share=True)
    languages: tuple[str, ...] = knob(
        ("en", "de", "fr"), f"of the pages, among {' '.join(LANGUAGES)}"
    )
    sentences: int = knob(3, "sentences of plain text on each page")

    scripted: float = knob(0.0, "share of sections whose pages have scripts", share=True)
    scripts: tuple[str, ...] = knob(
        ("injected", "manager", "router", "late"), f"of these sections, among {' '.join(SCRIPTS)}"
    )

    changing: float = knob(0.0, "share of pages whose triples change", share=True)
    period: float = knob(60.0, "seconds between two changes of such a page")
    spread: float = knob(
        0.0, "change at random, at rates spread over hosts and sections; 1 is like the web"
    )
    vanishing: float = knob(0.0, "share of pages that vanish: 404, or 410 for good", share=True)
    moving: float = knob(0.0, "share of pages that redirect to a new URL one day", share=True)
    returning: float = knob(0.0, "share of those that come back", share=True)
    life: float = knob(3600.0, "mean seconds until such a page leaves, and until it comes back")
    validators: float = knob(1.0, "share of hosts with ETag and Last-Modified", share=True)
    lying_validators: float = knob(
        0.0, "share of hosts where these never change, or all the time", share=True
    )
    lastmod: float = knob(0.0, "share of hosts whose sitemap dates its pages", share=True)
    lying_lastmod: float = knob(
        0.0, "share of hosts where these dates are all old, or all new", share=True
    )
    feeds: bool = knob(False, "each host has a feed.xml of its latest changes")
    max_age: float = knob(0.0, "max-age of pages in Cache-Control, in seconds, if not 0")
    speed: float = knob(1.0, "seconds of the web's time in a second")
    began: float = knob(0.0, "when the web began, as a Unix time; 0 is 2026-01-01")

    latency: float = knob(0.0, "mean seconds before an answer; each host has its own")
    bandwidth: float = knob(0.0, "bytes a second of the line that all hosts share, if not 0")
    slow: float = knob(0.0, "share of pages whose body trickles", share=True)
    slow_seconds: float = knob(5.0, "seconds that such a body takes")

    missing: float = knob(0.0, "share of pages that answer 404", share=True)
    broken: float = knob(0.0, "share of pages that answer 500", share=True)
    dropped: float = knob(0.0, "share of pages cut off in mid-body", share=True)
    redirected: float = knob(0.0, "share of pages that redirect to another page", share=True)
    looping: float = knob(0.0, "share of pages that redirect in a circle", share=True)
    duplicated: float = knob(0.0, "share of pages with the body of another page", share=True)
    similar: float = knob(
        0.0, "share of pages with the body of another and a word more", share=True
    )

    unavailable: float = knob(0.0, "share of (page, time slot) that answer 503", share=True)
    throttled: float = knob(0.0, "share of (host, time slot) that answer 429", share=True)
    slot: float = knob(5.0, "seconds of a time slot, after which such a fault may pass")

    disallowed: float = knob(0.0, "share of sections that robots.txt forbids", share=True)
    agent: str = knob("", "user agent for which robots.txt has special rules")
    crawl_delay: float = knob(0.0, "Crawl-delay in robots.txt, if not 0")
    robots_missing: float = knob(0.0, "share of hosts whose robots.txt answers 404", share=True)
    robots_broken: float = knob(0.0, "share of hosts whose robots.txt answers 500", share=True)
    sitemaps: bool = knob(True, "each host has a sitemap.xml, and robots.txt names it")

    calendar: float = knob(0.0, "share of hosts with an endless calendar", share=True)
    repeating: float = knob(0.0, "share of hosts with endlessly repeated segments", share=True)
    sessions: float = knob(0.0, "share of hosts with session ids in links", share=True)

    def __post_init__(self) -> None:
        for knob_ in fields(self):
            value = getattr(self, knob_.name)
            if knob_.metadata["share"] and not 0 <= value <= 1:
                raise ValueError(f"{knob_.name} is a share between 0 and 1, not {value}")
            if isinstance(value, int | float) and knob_.name != "seed" and not 0 <= value < 1e18:
                raise ValueError(f"{knob_.name} must not be negative or endless, as {value} is")
        self._check_sizes()
        self._check_sums()

    def _check_sizes(self) -> None:
        if self.hosts < 1 or self.pages < 1:
            raise ValueError("a web needs at least one host, and a page at least one child")
        if self.levels > 60:
            raise ValueError(f"levels must be at most 60, not {self.levels}")
        for name in ("pages", "links_inside", "links_across", "triples", "sentences"):
            if getattr(self, name) > _MOST:
                raise ValueError(f"{name} must be at most {_MOST:,}, or a page would not end")
        if not 1 <= self.addresses <= 10_000:
            raise ValueError(f"addresses must be between 1 and 10,000, not {self.addresses}")
        if not self.period or not self.slot or not self.life:
            raise ValueError("period, slot and life must be longer than 0 seconds")
        if not self.speed or self.spread > 10:
            raise ValueError("speed must be more than 0, and spread at most 10")
        for name, known in (("languages", LANGUAGES), ("scripts", SCRIPTS)):
            given = set(getattr(self, name))
            if not given or not given.issubset(known):
                got = ", ".join(sorted(given.difference(known))) or "none"
                raise ValueError(f"{name} must be among {', '.join(known)}; got {got}")
        if not re.fullmatch(r"[a-z0-9.\-]{1,200}", self.domain):
            raise ValueError(f"domain must be a host name in lower case, not {self.domain!r}")
        if not re.fullmatch(r"[A-Za-z_\-]*", self.agent):
            raise ValueError(f"agent must be one word of letters, _ and -, not {self.agent!r}")

    def _check_sums(self) -> None:
        for names in (FORMATS, FATES, ("robots_missing", "robots_broken"), ("vanishing", "moving")):
            total = sum(getattr(self, name) for name in names)
            if total > 1 + 1e-9:
                raise ValueError(f"{', '.join(names)} must not exceed 1 together, as {total} does")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for each parameter, with its default and its reason as help."""
    group = parser.add_argument_group("the generated web")
    for knob in fields(Parameters):
        default, text = knob.default, str(knob.metadata["reason"])
        form: dict[str, Any]
        if isinstance(default, bool):
            form = {"action": argparse.BooleanOptionalAction}
        elif isinstance(default, tuple):
            form = {"type": _names, "metavar": "A,B"}
            text += f" (default {','.join(default)})"
        else:
            kind = type(default)
            form = {"type": kind, "metavar": {int: "N", float: "X", str: "TEXT"}[kind]}
            text += f" (default {str(default) or 'none'})"
        group.add_argument(_option(knob.name), default=default, help=text, **form)


def read_options(options: argparse.Namespace) -> Parameters:
    """Return the parameters among parsed options, ValueError if they do not fit together."""
    return Parameters(**{knob.name: getattr(options, knob.name) for knob in fields(Parameters)})


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
