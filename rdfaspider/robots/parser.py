"""Parses a robots.txt, in whatever state it is, for one agent.

RFC 9309 asks to use every line that can be parsed. Beyond its grammar this takes what site owners
plainly mean: misspelt keys, a missing colon, several names in a User-agent line, names with a
version, UTF-16, `<br>` at the ends of lines, and rules without any User-agent line.
"""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rdfaspider.robots.patterns import Rules, pattern

LINE_LIMIT = 8 * 2083 - 1  # octets of a line that are read, as many as Google's parser reads


class Said(NamedTuple):
    """What a file says to an agent."""

    rules: Rules
    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    training: Rules


@dataclass(slots=True, eq=False)
class Group:
    """What all groups of one name say together."""

    named: bool = False
    lines: list[tuple[bytes, bool]] = field(default_factory=list)
    training: list[tuple[bytes, bool]] = field(default_factory=list)
    crawl_delay: float | None = None


def parse(body: bytes, user_agent: str, limit: int) -> Said:
    """Return what the first `limit` octets of a file say to an agent."""
    agent, everybody = Group(), Group()
    sitemaps: dict[str, None] = {}
    _gather(_text(body, limit), agent_tokens(user_agent), agent, everybody, sitemaps)
    group = agent if agent.named else everybody
    return Said(_rules(group.lines), group.crawl_delay, tuple(sitemaps), _rules(group.training))


def _gather(
    text: bytes,
    tokens: frozenset[bytes],
    agent: Group,
    everybody: Group,
    sitemaps: dict[str, None],
) -> None:
    """Pass the lines of a file to the group of the agent and that of everybody.

    User-agent lines name the readers of the rules that follow; the first rule closes the list, any
    other line leaves it open (RFC 9309 section 2.2.4). Crawl-delay and lines about training are no rules,
    but sites write them below each name: both have a list of their own, which they close in the same way.
    """
    ruled: set[Group] = set()
    delayed: set[Group] = set()
    trained: set[Group] = set()
    ruled_open = delayed_open = trained_open = False
    for key, value in _pairs(text):
        if key == "disallow" or key == "allow":
            ruled_open = delayed_open = trained_open = False
            for group in ruled:
                group.lines.append((value, key == "allow"))
        elif key == "user-agent":
            named = _named(value, tokens, agent, everybody)
            ruled = ruled | named if ruled_open else named
            delayed = delayed | named if delayed_open else named
            trained = trained | named if trained_open else named
            ruled_open = delayed_open = trained_open = True
        elif key == "crawl-delay":
            delayed_open = False
            for group in delayed:
                group.crawl_delay = _longest(value, group.crawl_delay)
        elif key in _TRAINING:
            trained_open = False
            for group in trained:
                group.training += _TRAINING[key](value)
        elif value.lower().startswith((b"http://", b"https://")):  # key is "sitemap"
            sitemaps[value.decode("utf-8", "replace")] = None


def _rules(lines: list[tuple[bytes, bool]]) -> Rules:
    rules: Rules = {}
    for value, allow in lines:
        if not value:
            continue
        normal = pattern(value)
        rules[normal] = allow or rules.get(normal, False)
        if allow and b"/index.htm" in normal:
            # To allow the index page is to allow the folder that shows it.
            rules[normal[: normal.rindex(b"/index.htm") + 1] + b"$"] = True
    return rules


_USES = re.compile(rb"\b(?:ai-train|train-ai)\s*=\s*(y|n)", re.IGNORECASE)


def _uses(value: bytes) -> list[tuple[bytes, bool]]:
    """Return what `Content-Signal: ai-train=no` or `Content-Usage: /path train-ai=n` says of training."""
    path = value.split(None, 1)[0] if value.startswith(b"/") else b"/"
    return [(path, each.lower() == b"y") for each in _USES.findall(value)]


# Lines about the training of models, which others have proposed beside RFC 9309.
_TRAINING: dict[str, Callable[[bytes], list[tuple[bytes, bool]]]] = {
    "disallowaitraining": lambda value: [(value, False)],
    "allowaitraining": lambda value: [(value, True)],
    "content-usage": _uses,
}

_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")


def _longest(value: bytes, known: float | None) -> float | None:
    """Return the longer of a Crawl-delay line and the delay known so far."""
    number = _NUMBER.match(value)
    if number is None or not math.isfinite(seconds := float(number[0])):
        return known
    return seconds if known is None else max(seconds, known)


# Lines --------------------------------------------------------------------------------------------

_SPELLINGS = {
    "user-agent": "user-agent useragent user_agent useg-agent",
    "allow": "allow",
    "disallow": "disallow dissallow dissalow disalow diasllow disallaw desallow",
    "crawl-delay": "crawl-delay crawldelay crawl_delay",
    "sitemap": "sitemap site-map site_map",
    "disallowaitraining": "disallowaitraining disallow-ai-training",
    "allowaitraining": "allowaitraining allow-ai-training",
    "content-usage": "content-usage content-signal content-signals",
}
_KEYS = {word.encode(): key for key, words in _SPELLINGS.items() for word in words.split()}
_LINE = re.compile(rb"\n[^\S\n]*+([A-Za-z][^:#\n]*+)(:?)([^#\n]*+)")
_LONG_LINE = re.compile(rb"(\n[^\n]{%d})[^\n]++" % LINE_LIMIT)
_LINE_BREAK_TAG = re.compile(rb"<br\s*+/?>", re.IGNORECASE)


def _text(body: bytes, limit: int) -> bytes:
    """Return a file in UTF-8 and in lines that each begin with a line feed."""
    if len(body) > limit:
        # A line cut short would say something else: `Disallow: /` instead of `Disallow: /a`. One that ends
        # at the limit is whole.
        end = limit + 1
        body = body[: max(body.rfind(b"\n", 0, end), body.rfind(b"\r", 0, end), 0)]
    if body.startswith((BOM_UTF16_BE, BOM_UTF16_LE)):
        body = body.decode("utf-16", "replace").encode()
    body = body.lstrip(b"\xef\xbb\xbf")  # the byte order mark, or what an editor left of it
    text = b"\n" + body.replace(b"\r", b"\n")
    if b"<" in text:
        text = _LINE_BREAK_TAG.sub(b"\n", text)  # a content system took the file for a page
    if len(text) > LINE_LIMIT:
        text = _LONG_LINE.sub(rb"\1", text)
    if b"agent" not in text.lower():
        text = b"\nUser-agent:*" + text  # a file that names nobody speaks to everybody
    return text


def _pairs(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield key and value of the lines that have a key we know."""
    for written, colon, value in _LINE.findall(text):
        key = _KEYS.get(written.strip().lower().replace(b" ", b"_"))
        if key:
            if colon:
                yield key, value.strip()
        elif not colon and len(words := written.split()) == 2:
            key = _KEYS.get(words[0].lower())
            if key:
                yield key, words[1]


# The names of agents ------------------------------------------------------------------------------

_NAME = re.compile(rb"(?<![^\s,;()])[^\s,;()/]+")
_COMMENT = re.compile(rb"\([^()]*+\)?")


@lru_cache(maxsize=8)  # a crawl has one agent
def agent_tokens(user_agent: str) -> frozenset[bytes]:
    """Return the product tokens that a crawler answers to.

    Comments name no product, but for the one in `Mozilla/5.0 (compatible; Name/1.0; +https://…)`.
    """
    header = user_agent.encode("utf-8", "surrogatepass")
    tokens = _tokens(header)
    if b"mozilla" not in tokens:
        return _tokens(_COMMENT.sub(b" ", header))
    return tokens - {b"mozilla", b"compatible"} or tokens


def _tokens(value: bytes) -> frozenset[bytes]:
    """Return the words of a User-agent line or header, in lower case and without version."""
    return frozenset(name.rstrip(b"*") or b"*" for name in _NAME.findall(value.lower()))


def _named(value: bytes, tokens: frozenset[bytes], agent: Group, everybody: Group) -> set[Group]:
    """Return which of the two groups a User-agent line names."""
    names = _tokens(value)
    named = set()
    if not names.isdisjoint(tokens):
        agent.named = True
        named.add(agent)
    if b"*" in names:
        named.add(everybody)
    return named
