"""Page -> HTML. Its triples are exactly those of the page's things, in the page's format.

No `rel` that is a property and no `vocab` is ever written, because both would make more triples, and no text
is near a property's value, because white space would become part of it. `html lang` gives
language to texts; strings without one say so by `lang=""`.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from html import escape
from itertools import chain

from rdfaspider.site.pages import GeneratedPage
from rdfaspider.site.pages.facts import PREFIXES, Fact, Shape, Thing, full

# Pages say much the same: most texts, links and rows have been written before.
_escape = lru_cache(maxsize=65536)(escape)
_encode = json.JSONEncoder(ensure_ascii=False).encode
_CONTEXT = _encode({**PREFIXES, "xsd": "http://www.w3.org/2001/XMLSchema#"})

_FEED = '<link rel="alternate" type="application/atom+xml" href="{}">\n'


def render(page: GeneratedPage) -> bytes:
    """Return the HTML document of a page without scripts."""
    jsonld = jsonld_block(page.format, page.things, page.language)
    return document(page, jsonld, f"<main>\n{content(page)}</main>\n")


def document(page: GeneratedPage, head: str, body: str) -> bytes:
    """Return an HTML document with the title of a page."""
    feed = _FEED.format(page.feed) if page.feed else ""
    return (
        f'<!DOCTYPE html>\n<html lang="{page.language}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_escape(page.title)}</title>\n{head}{feed}</head>\n<body>\n{body}</body>\n</html>\n"
    ).encode()


def content(page: GeneratedPage) -> str:
    """Return what a page shows: title, sentences, links and things."""
    parts = chain(
        (f"<h1>{_escape(page.title)}</h1>\n",),
        (f"<p>{_escape(sentence)}</p>\n" for sentence in page.sentences),
        ("<ul>\n",),
        map(_link, page.links),
        ("</ul>\n",),
        (_thing(thing, page) for thing in page.things),
    )
    return "".join(parts)


@lru_cache(maxsize=65536)
def _link(link: str) -> str:
    return f'<li><a href="{link}">{_label(link)}</a></li>\n'


def _label(link: str) -> str:
    return link.removeprefix("http://").strip("/").replace("/", " ") or "Home"


# How things and facts are written: `{{0}}` becomes the subject or the value.
_THINGS = {
    "rdfa": '<dl about="{{0}}" typeof="{name}">\n',
    "microdata": '<dl itemscope itemid="{{0}}" itemtype="{full_name}">\n',
}
_FACTS = {
    "rdfa": {
        "iri": '<dd><a property="{name}" href="{{0}}">{{0}}</a></dd>',
        "text": '<dd property="{name}">{{0}}</dd>',
        "string": '<dd property="{name}" lang="">{{0}}</dd>',
        "integer": '<dd property="{name}" datatype="xsd:integer" content="{{0}}">({{0}})</dd>',
        "date": '<dd><time property="{name}" datetime="{{0}}">{{0:.4}}</time></dd>',
        "dateTime": '<dd><time property="{name}" datetime="{{0}}">{{0:.10}}</time></dd>',
    },
    "microdata": {
        "iri": '<dd><a itemprop="{full_name}" href="{{0}}">{{0}}</a></dd>',
        "text": '<dd itemprop="{full_name}">{{0}}</dd>',
        "string": '<dd itemprop="{full_name}" lang="">{{0}}</dd>',
        "integer": '<dd><data itemprop="{full_name}" value="{{0}}">({{0}})</data></dd>',
        "date": '<dd><time itemprop="{full_name}" datetime="{{0}}">{{0:.4}}</time></dd>',
        "dateTime": '<dd><time itemprop="{full_name}" datetime="{{0}}">{{0:.10}}</time></dd>',
    },
}


def _thing(thing: Thing, page: GeneratedPage) -> str:
    # Subjects and objects go without the origin, so that readers must resolve them.
    rows = [_opening(page.format, thing.type).format(thing.subject.removeprefix(page.origin))]
    for predicate, value, shape in thing.facts:
        if shape == "iri":
            value = value.removeprefix(page.origin)
        elif shape == "text" or shape == "string":
            value = _escape(value)
        rows.append(_row(page.format, predicate, shape).format(value))
    rows.append("</dl>\n")
    return "".join(rows)


@cache
def _opening(format_: str, type_: str) -> str:
    """Return how a thing of a type begins, with `{0}` for its subject."""
    return _THINGS.get(format_, "<dl>\n").format(name=type_, full_name=full(type_))


@cache
def _row(format_: str, predicate: str, shape: Shape) -> str:
    """Return how a fact is written, with `{0}` for its value."""
    template = _FACTS[format_][shape] if format_ in _FACTS else "<dd>{{0}}</dd>"
    # Microdata takes names from the vocabulary of the item's type, or whole.
    full_name = full(predicate).removeprefix(PREFIXES["schema"])
    term = predicate.partition(":")[2]
    return f"<dt>{term}</dt>{template.format(name=predicate, full_name=full_name)}\n"


def jsonld_block(format_: str, things: list[Thing], language: str) -> str:
    """Return the script element with the JSON-LD of a page, "" if that is not its format."""
    if format_ != "jsonld":
        return ""
    return f'<script type="application/ld+json">{jsonld(things, language)}</script>\n'


def jsonld(things: list[Thing], language: str) -> str:
    """Return things as JSON-LD that may stand inside a script element."""
    graph = [
        {
            "@id": thing.subject,
            "@type": thing.type,
            **{fact.predicate: _json(fact, language) for fact in thing.facts},
        }
        for thing in things
    ]
    return f'{{"@context": {_CONTEXT}, "@graph": {embedded(graph)}}}'


def embedded(value: object) -> str:
    """Return a value as JSON, or JavaScript, that may stand inside a script element."""
    # The only way out of a script element is a tag, so no tag may begin inside.
    return _encode(value).replace("<", "\\u003c")


def _json(fact: Fact, language: str) -> object:
    match fact.shape:
        case "iri":
            return {"@id": fact.value}
        case "text":
            return {"@value": fact.value, "@language": language}
        case "string":
            return fact.value
        case "integer":
            return int(fact.value)
        case _:
            return {"@value": fact.value, "@type": f"xsd:{fact.shape}"}
