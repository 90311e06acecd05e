"""The links of a page: what a crawler may follow from it.

Links are the @href of ``a`` and ``area``, the @src of ``iframe`` and ``frame``, and the @href of
``link`` elements that lead to a page or to data (``FOLLOWED``) rather than to a style sheet or an
icon, and where ``meta http-equiv=refresh`` sends its reader. A link with ``rel=nofollow`` is kept apart
and counted. Media that are embedded or linked to are counted by their kind.
"""

from __future__ import annotations

import re
from collections import Counter

from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.extraction import Extraction, Options
from rdfaspider.extract.files import FileJoiner
from rdfaspider.extract.mediatypes import media_kind
from rdfaspider.extract.percentencoding import query_encoder
from rdfaspider.urls import Joiner, as_linked

ATTRIBUTES = frozenset(("href", "src", "http-equiv"))

_FOLLOWED = """
    alternate canonical chapter contents describedby first index last meta next prev previous section
    start up
"""
FOLLOWED = frozenset(_FOLLOWED.split())
# Elements that embed media, with their kind where the source does not tell another.
_EMBEDDING = {
    "audio": "audio",
    "embed": "other",
    "img": "image",
    "source": "video",
    "video": "video",
}
_ANY_KIND = frozenset(("embed", "source"))
_REFERRING = frozenset(("area", "frame", "iframe", "link", "meta"))
_REFRESH = re.compile(r"""[\s\d.]*+(?:[;,]\s*+|(?<=\s))url\s*+=\s*+["']?([^"']*+)""", re.IGNORECASE)
_REFERENCE = 2_000  # characters read of what a page refreshes to
_ANCHOR = 200  # characters kept of an anchor text
_ANCHORS = 1_000_000  # characters read for all of them: anchors may stand inside each other
_URLS = 2_000_000  # characters of all links: a long base may make each of them long


def read_links(document: Document, page: str, options: Options, extraction: Extraction) -> None:
    """Collect the first different links of the page at a URL, normalised, and count the others.

    A page in a file may link to files. Links whose page asks not to follow any are not followed.
    """
    facts, limit = extraction.facts, options.limits.links
    kind_of_joiner = FileJoiner if page.startswith("file:") else Joiner
    try:
        joiner = kind_of_joiner(facts.base, query_encoder(facts.encoding))
    except ValueError:
        return
    urls: list[str] = []
    relations: list[str] = []
    texts: list[str] = []
    nofollow: list[str] = []
    cuts: Counter[str] = Counter()
    media: Counter[str] = Counter()
    canonical = ""
    seen: set[str] = set()  # references and URLs
    unfollowed: set[str] = set()  # references
    left, room = _ANCHORS, _URLS
    for _, tag, attributes, node in document.elements:
        if tag == "a":
            reference = attributes.get("href")
        elif tag in _REFERRING:
            reference = _reference(tag, attributes)
        elif tag in _EMBEDDING:
            if (source := attributes.get("src")) is not None:
                kind = media_kind(source, attributes.get("type", "")) if tag in _ANY_KIND else ""
                media[kind or _EMBEDDING[tag]] += 1
            continue
        else:
            continue
        if not reference:
            continue
        if tag == "link" and not canonical:  # another relation may have linked to it before
            canonical = _canonical(joiner, reference, attributes, page)
        if reference in seen:
            continue
        if "." in reference and tag in ("a", "area") and (kind := media_kind(reference)):
            media[kind] += 1
        relation = attributes.get("rel", "")
        if relation and "nofollow" in relation.lower().split():
            cuts["nofollow"] += 1
            if reference not in unfollowed and len(unfollowed) < limit and room > 0:
                unfollowed.add(reference)
                if url := _joined(joiner, reference, page):
                    nofollow.append(url)
                    room -= len(url)
            continue
        seen.add(reference)
        if len(urls) >= limit or room < 0:
            cuts["links"] += 1
            continue
        url = _joined(joiner, reference, page)
        if not url:
            cuts["invalid_links"] += 1
        elif url == reference or url not in seen:
            seen.add(url)
            room -= len(url)
            urls.append(url)
            if options.anchors:
                text = document.text(node) if tag == "a" and left > 0 else ""
                left -= len(text)
                relations.append(relation)
                texts.append(" ".join(text[: 4 * _ANCHOR].split())[:_ANCHOR])
    extraction.canonical, extraction.media = canonical, dict(media)
    if facts.nofollow:  # it asks so for all
        extraction.nofollow = urls + nofollow
        return
    extraction.links, extraction.nofollow = urls, nofollow
    extraction.relations, extraction.texts = relations, texts
    facts.cuts.update(cuts)


def _joined(joiner: Joiner, reference: str, page: str) -> str:
    """Return where a link leads, "" if nowhere."""
    try:
        return as_linked(joiner.join(reference), page)
    except ValueError:
        return ""


def _canonical(joiner: Joiner, reference: str, attributes: dict[str, str], page: str) -> str:
    """Return where a link element leads if that is the canonical form of the page, else ""."""
    relations = attributes.get("rel", "").lower().split()
    if "canonical" not in relations or "nofollow" in relations:
        return ""
    return _joined(joiner, reference, page)


def _reference(tag: str, attributes: dict[str, str]) -> str | None:
    if tag in ("iframe", "frame"):
        return attributes.get("src")
    if tag == "meta":
        if attributes.get("http-equiv", "").strip().lower() != "refresh":
            return None
        found = _REFRESH.match(attributes.get("content", "")[:_REFERENCE])
        return found[1].strip() if found else None
    if tag == "link" and FOLLOWED.isdisjoint(attributes.get("rel", "").lower().split()):
        return None
    return attributes.get("href")
