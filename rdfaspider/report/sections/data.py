"""Structured data: where it is, and what it speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import (
    Found,
    bars,
    called,
    columns,
    names_of,
    of_first,
    points,
    why_missing,
)
from rdfaspider.report.triples import compact
from rdfaspider.terminal import plural


def data(crawls: Sequence[Found]) -> Section:
    names = names_of(crawls)
    shares = ("0", *(f"{10 * step - 9}-{10 * step}" for step in range(1, 11)))
    facts = [
        f"{called(crawls, crawl)}{plural(pages['problems'], 'fault')} in the markup of"
        f" {plural(pages['pages_with_problems'], 'page')}: statements that are not written as they should be."
        for crawl in crawls
        if (pages := crawl["pages"])["problems"]
    ]
    return Section(
        "data",
        "Structured data",
        "Where the triples are: by format, page, host and section of a site.",
        [
            bars(
                "formats",
                "Formats",
                "Pages that have statements in each format.",
                crawls,
                "pages_with",
            ),
            bars(
                "format-triples",
                "Triples by format",
                "Statements found in pages, before filters and quotas.",
                crawls,
                "triples_by",
                up="triples",
            ),
            points(
                "triples",
                "Triples a page",
                "How many pages have how many triples. Pages without any are left out of the picture.",
                crawls,
                "triples",
                "triples",
                "pages",
            ),
            points(
                "host-triples",
                "Triples a host",
                "How many hosts have how many triples.",
                crawls,
                "triples_a_host",
                "triples",
                "hosts",
            ),
            Figure(
                "shares",
                "Hosts by their share of pages with data",
                "Percent of the pages of a host that have structured data.",
                "columns",
                names,
                across="percent of pages",
                up="hosts",
                labels=shares,
                values=[crawl["pages"]["shares"] for crawl in crawls],
            ),
            columns(
                "depth-triples",
                "Triples by depth",
                "Triples on pages at each distance from a seed.",
                crawls,
                "triples_at",
                up="triples",
            ),
            Table(
                "sections",
                "Sections with most triples",
                "A section is a site with the first folder of the path." + of_first(crawls),
                ["section", "pages", "with data", "triples", "a page"],
                [
                    [
                        each["section"],
                        each["pages"],
                        each["rich"],
                        each["triples"],
                        each["triples"] / each["pages"],
                    ]
                    for each in crawls[0]["pages"]["sections"]
                    if each["triples"]
                ],
            ),
        ],
        note=why_missing(crawls, "pages"),
        facts=facts,
    )


def terms(crawls: Sequence[Found]) -> Section:
    def counted(key: str, title: str, sentence: str) -> Figure:
        named = compact if key in ("types", "predicates") else str
        return bars(key, title, sentence, crawls, key, of="triples", up="statements", named=named)

    return Section(
        "terms",
        "Vocabularies",
        "What the stored statements speak of. A vocabulary is what precedes the last # or / of a term.",
        [
            counted(
                "vocabularies",
                "Vocabularies",
                "Statements whose predicate is from each vocabulary.",
            ),
            counted("types", "Types of things", "Statements that give a thing this type."),
            counted("predicates", "Predicates", "Statements with each predicate."),
            counted("objects", "Values", "What stands at the end of statements."),
            counted(
                "literal_languages",
                "Languages of literals",
                "Texts that are tagged with a language.",
            ),
            points(
                "predicate-frequencies",
                "How often predicates are used",
                "How many predicates occur in how many statements.",
                crawls,
                "predicate_frequencies",
                "statements",
                "predicates",
                of="triples",
            ),
        ],
        note=why_missing(crawls, "triples"),
        facts=[
            f"{called(crawls, crawl)}{plural(each['predicate_count'], 'predicate')} and"
            f" {plural(each['type_count'], 'type')} in {plural(each['graphs'], 'graph')}."
            for crawl in crawls
            if (each := crawl["triples"])
        ],
    )
