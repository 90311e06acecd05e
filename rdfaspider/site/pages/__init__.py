"""What a URL points to, and what a page shows.

words    names, titles and sentences in six languages
facts    what a page says, as facts that become triples
markup   a page as HTML with RDFa, JSON-LD or Microdata
scripts  pages whose data and links are made by scripts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rdfaspider.site.pages.facts import Thing


class Location(NamedTuple):
    """Where a URL points to: a host by number, its port (`:8000` or none), path and query."""

    origin: str
    host: int
    port: str
    path: str
    query: str


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a page: its kind (parameters.SCRIPTS), and what it adds to the page in a browser."""

    kind: str
    format: str
    things: list[Thing]
    links: list[str]
    manager: str  # URL of the tag manager's script


@dataclass(frozen=True, slots=True)
class GeneratedPage:
    """Everything that markup shows. `links` are as written: paths inside, URLs across hosts."""

    origin: str
    path: str
    language: str
    title: str
    format: str
    links: list[str]
    things: list[Thing]
    sentences: list[str]
    feed: str = ""
    script: Script | None = None
