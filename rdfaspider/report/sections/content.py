"""Sites, and the content of their pages."""

from __future__ import annotations

from collections.abc import Sequence

from rdfaspider.report.model import Section, Table
from rdfaspider.report.sections.figures import Figures, Found, called, of_first, why_missing


def sites(crawls: Sequence[Found]) -> Section:
    figures = Figures(crawls)
    columns = (
        *("host", "pages", "rich", "triples", "problems", "bytes", "copies", "failed", "denied"),
        *("pause", "mean_age", "least_age", "most_age"),
    )
    heads = (
        *("host", "pages", "with data", "triples", "faults", "bytes", "copies", "failed", "denied"),
        *("seconds between", "mean age", "least age", "most age"),
    )
    return Section(
        "sites",
        "Sites",
        "Sums by host: a site is everything under one name. Faults are those in its markup. Seconds between"
        " are those from one fetch to the next of the same host, in the mean: how polite the crawl was. Ages"
        " are in days, of the pages that have a Last-Modified.",
        [
            figures.points(
                "pages_a_host",
                "Pages a host",
                "How many hosts have how many pages.",
                "pages",
                "hosts",
            ),
            figures.spread(
                "bytes_a_host",
                "Bytes a host",
                "Sum of the pages of a host, unpacked, in steps of a factor of two.",
                "bytes",
                "hosts",
            ),
            Table(
                "hosts",
                "Hosts with most pages",
                "Hosts by the number of pages read." + of_first(crawls),
                heads,
                [[each[name] for name in columns] for each in crawls[0]["pages"]["hosts"]],
            ),
        ],
        note=why_missing(crawls, "pages"),
    )


def content(crawls: Sequence[Found]) -> Section:
    figures, facts = Figures(crawls), []
    for crawl in crawls:
        pages = crawl["pages"]
        known = pages["language_same"] + pages["language_other"]
        facts.append(
            f"{called(crawls, crawl)}{pages['copies']:,} pages are copies of others byte for byte,"
            f" {pages['near_copies']:,} are near copies; {pages['analysed']:,} texts were analysed."
        )
        if known:
            facts.append(
                f"{called(crawls, crawl)}{pages['language_other'] / known:.1%} of {known:,} pages declare"
                " another language than they are written in."
            )
    unread = all(not crawl["pages"]["analysed"] for crawl in crawls)
    return Section(
        "content",
        "Content",
        "Topics, languages, sizes and ages of pages, and how many are copies of each other.",
        [
            figures.bars("declared", "Languages declared", "What pages say of themselves."),
            figures.bars("detected", "Languages detected", "What their texts are written in."),
            figures.bars(
                "topics",
                "Topics",
                "What pages are about, by the best topic of each, in a crawl with a topics file.",
            ),
            figures.spread(
                "sizes",
                "Sizes",
                "Bytes of a page, unpacked, in steps of a factor of two.",
                "bytes",
            ),
            figures.spread(
                "ages",
                "Ages",
                "Days from the last change of a page, by its Last-Modified, to its fetch, in steps of a"
                " factor of two. Pages without that header are left out.",
                "days",
            ),
            figures.points(
                "links", "Links on a page", "How many pages have how many links.", "links"
            ),
        ],
        note="Near copies and languages are found by scrapy pages --analyse, from the archive."
        if unread
        else "",
        facts=facts,
    )
