"""Structured data: where it is, and what it speaks of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import (
    Figures,
    Found,
    called,
    names_of,
    of_first,
    why_missing,
)
from rdfaspider.report.triples import compact
from rdfaspider.terminal import plural


def data(crawls: Sequence[Found]) -> Section:
    figures = Figures(crawls)
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
            figures.bars("pages_with", "Formats", "Pages that have statements in each format."),
            figures.bars(
                "triples_by",
                "Triples by format",
                "Statements found in pages, before filters and quotas.",
                "triples",
            ),
            figures.points(
                "triples",
                "Triples a page",
                "How many pages have how many triples. Pages without any are left out of the picture.",
                "triples",
            ),
            figures.points(
                "triples_a_host",
                "Triples a host",
                "How many hosts have how many triples.",
                "triples",
                "hosts",
            ),
            Figure(
                "shares",
                "Hosts by their share of pages with data",
                "Percent of the pages of a host that have structured data.",
                "columns",
                names_of(crawls),
                across="percent of pages",
                up="hosts",
                labels=shares,
                values=[crawl["pages"]["shares"] for crawl in crawls],
            ),
            figures.columns(
                "triples_at",
                "Triples by depth",
                "Triples on pages at each distance from a seed.",
                "triples",
            ),
            Table(
                "sections",
                "Sections with most triples",
                "A section is a site with the first folder of the path." + of_first(crawls),
                ["section", "pages", "with data", "triples", "a page"],
                [
                    [*each.values(), each["triples"] / each["pages"]]
                    for each in crawls[0]["pages"]["sections"]
                    if each["triples"]
                ],
            ),
        ],
        note=why_missing(crawls, "pages"),
        facts=facts,
    )


def terms(crawls: Sequence[Found]) -> Section:
    figures = Figures(crawls, "triples")
    rows: tuple[tuple[str, str, str, Callable[[str], str]], ...] = (
        (
            "vocabularies",
            "Vocabularies",
            "Statements whose predicate is from each vocabulary.",
            str,
        ),
        ("types", "Types of things", "Statements that give a thing this type.", compact),
        ("predicates", "Predicates", "Statements with each predicate.", compact),
        ("objects", "Values", "What stands at the end of statements.", str),
        ("literal_languages", "Languages of literals", "Texts tagged with a language.", str),
    )
    return Section(
        "terms",
        "Vocabularies",
        "What the stored statements speak of. A vocabulary is what precedes the last # or / of a term.",
        [
            *(
                figures.bars(name, title, sentence, "statements", named)
                for name, title, sentence, named in rows
            ),
            figures.points(
                "predicate_frequencies",
                "How often predicates are used",
                "How many predicates occur in how many statements.",
                "statements",
                "predicates",
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
