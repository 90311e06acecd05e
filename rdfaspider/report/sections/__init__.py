"""The numbers of one or more crawls as sections with figures and tables.

Every figure has a sentence that says what it shows and explains its terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import gmtime, strftime

from rdfaspider.curves import short
from rdfaspider.report.model import Section
from rdfaspider.report.sections.content import content, sites
from rdfaspider.report.sections.course import answers, course, left_out
from rdfaspider.report.sections.data import data, terms
from rdfaspider.report.sections.figures import Found
from rdfaspider.report.sections.graph import graph
from rdfaspider.terminal import duration

_MAKERS = (course, answers, data, terms, sites, content, graph, left_out)


def sections_of(crawls: Sequence[Found]) -> list[Section]:
    """Return the sections of a report on one crawl, or on several beside each other."""
    return [make(crawls) for make in _MAKERS]


def title_of(crawls: Sequence[Found]) -> str:
    return "What a crawl found" if len(crawls) == 1 else "What the crawls found"


def lead_of(crawls: Sequence[Found]) -> str:
    """Return which crawls these are, and when they were read."""
    names = ", ".join(crawl["name"] for crawl in crawls)
    return f"{names}, as of {strftime('%Y-%m-%d %H:%M UTC', gmtime(crawls[0]['made']))}"


def cards_of(crawls: Sequence[Found]) -> list[tuple[str, str]]:
    """Return the first numbers that a reader wants, of the first crawl."""
    crawl = crawls[0]
    pages, graph = crawl["pages"], crawl["links"]
    cards = [
        (f"{pages['pages']:,}", "pages"),
        (f"{crawl['urls']['seen']:,}", "URLs found"),
        (f"{pages['host_count']:,}", "hosts"),
    ]
    if crawl["triples"]:
        cards.append((f"{crawl['triples']['triples']:,}", "triples stored"))
    if pages["pages"]:
        rich = pages["pages"] - pages["triples"].get(0, 0)
        cards.append((f"{rich / pages['pages']:.0%}", "of pages with structured data"))
    if graph:
        cards.append((f"{graph['links']:,}", "links"))
    cards.append((f"{short(pages['bytes'])}B", "of pages, unpacked"))
    if crawl["history"]:
        cards.append((duration(crawl["history"]["seconds"]), "of crawling"))
    return cards
