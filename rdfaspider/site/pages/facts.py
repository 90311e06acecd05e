"""What a page says: things of some type with properties; each property is one triple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

from rdfaspider.site.pages.words import person, sentence, title

# iri: an absolute IRI; text: in the language of the page; the others are lexical forms.
Shape = Literal["iri", "text", "string", "integer", "date", "dateTime"]

PREFIXES = {
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dcterms": "http://purl.org/dc/terms/",
}


class Fact(NamedTuple):
    """One property of a thing: a compact predicate (`schema:name`), a value and its shape."""

    predicate: str
    value: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Thing:
    """A subject with its type and its other facts; `1 + len(facts)` distinct triples."""

    subject: str
    type: str
    facts: list[Fact]


class Kind(NamedTuple):
    """What is said about things of one type: no predicate twice, so that no triple is."""

    type: str
    properties: tuple[tuple[str, str], ...]


# The second of each pair is what `_value` makes of it.
HOME = Kind(
    "schema:Organization",
    (
        ("schema:name", "title"),
        ("schema:foundingDate", "date"),
        ("schema:description", "sentence"),
        ("schema:telephone", "code"),
        ("schema:member", "link"),
    ),
)
KINDS = {
    "people": Kind(
        "schema:Person",
        (
            ("schema:name", "person"),
            ("foaf:knows", "link"),
            ("schema:birthDate", "date"),
            ("schema:description", "sentence"),
            ("foaf:age", "integer"),
            ("schema:jobTitle", "title"),
        ),
    ),
    "books": Kind(
        "schema:Book",
        (
            ("schema:name", "title"),
            ("schema:author", "link"),
            ("schema:isbn", "code"),
            ("schema:numberOfPages", "integer"),
            ("schema:datePublished", "date"),
            ("schema:description", "sentence"),
        ),
    ),
    "events": Kind(
        "schema:Event",
        (
            ("schema:name", "title"),
            ("schema:startDate", "dateTime"),
            ("schema:location", "link"),
            ("schema:maximumAttendeeCapacity", "integer"),
            ("schema:description", "sentence"),
        ),
    ),
    "places": Kind(
        "schema:Place",
        (
            ("schema:name", "title"),
            ("schema:telephone", "code"),
            ("schema:containedInPlace", "link"),
            ("schema:description", "sentence"),
            ("schema:maximumAttendeeCapacity", "integer"),
        ),
    ),
    "music": Kind(
        "schema:MusicAlbum",
        (
            ("schema:name", "title"),
            ("schema:byArtist", "link"),
            ("schema:numTracks", "integer"),
            ("schema:datePublished", "date"),
            ("schema:description", "sentence"),
        ),
    ),
    "films": Kind(
        "schema:Movie",
        (
            ("schema:name", "title"),
            ("schema:director", "link"),
            ("schema:dateCreated", "date"),
            ("schema:abstract", "sentence"),
            ("foaf:maker", "link"),
        ),
    ),
    "recipes": Kind(
        "schema:Recipe",
        (
            ("schema:name", "title"),
            ("schema:recipeYield", "integer"),
            ("schema:author", "link"),
            ("schema:recipeInstructions", "sentence"),
            ("schema:dateModified", "dateTime"),
        ),
    ),
    "courses": Kind(
        "schema:Course",
        (
            ("schema:name", "title"),
            ("schema:courseCode", "code"),
            ("schema:provider", "link"),
            ("schema:abstract", "sentence"),
            ("schema:datePublished", "date"),
        ),
    ),
}
DOCUMENT = Kind(
    "foaf:Document",
    (
        ("dcterms:title", "title"),
        ("dcterms:creator", "person"),
        ("dcterms:modified", "dateTime"),
        ("dcterms:references", "link"),
    ),
)


def full(compact: str) -> str:
    """Return the IRI that a compact name (`schema:name`) stands for."""
    prefix, _, name = compact.partition(":")
    return PREFIXES[prefix] + name


def things(
    url: str, kind: Kind, language: str, targets: Sequence[str], triples: int, numbers: Random
) -> list[Thing]:
    """Return things with exactly `triples` triples: a topic, the document, then more topics.

    `targets` are what facts may link to; the topic of each is their object.
    """
    result: list[Thing] = []
    while triples > 0:
        number = len(result)
        what = DOCUMENT if number == 1 else kind
        facts = [
            _fact(predicate, source, language, targets, numbers)
            for predicate, source in what.properties[: triples - 1]
        ]
        result.append(Thing(url + _FRAGMENTS.get(number, f"#it-{number}"), what.type, facts))
        triples -= 1 + len(facts)
    return result


# The first thing is the topic of a page, the second the page itself.
_FRAGMENTS = {0: "#it", 1: ""}


def _fact(
    predicate: str, source: str, language: str, targets: Sequence[str], numbers: Random
) -> Fact:
    if source == "title":
        return Fact(predicate, title(language, numbers), "text")
    if source == "sentence":
        return Fact(predicate, sentence(language, numbers), "text")
    if source == "person":
        return Fact(predicate, person(numbers), "string")
    if source == "link":
        target = targets[int(numbers.random() * len(targets))]
        return Fact(predicate, f"{target}#it", "iri")
    number = int(numbers.random() * 1_000_000)
    if source == "integer":
        return Fact(predicate, str(number % 997), "integer")
    if source == "code":
        return Fact(predicate, f"{number % 89 + 10}-{number:06}", "string")
    day = f"{1900 + number % 126}-{number % 12 + 1:02}-{number % 28 + 1:02}"
    if source == "date":
        return Fact(predicate, day, "date")
    return Fact(predicate, f"{day}T{number % 24:02}:{number % 60:02}:00Z", "dateTime")
