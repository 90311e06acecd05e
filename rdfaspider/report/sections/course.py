"""How a crawl went, what servers answered, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import (
    Figures,
    Found,
    called,
    merged,
    names_of,
    why_missing,
)

# The rows of the table of totals: in which part of what is known of a crawl each is, by which name.
_TOTALS = (
    ("URLs found", "urls", "seen"),
    ("done", "urls", "done"),
    ("kept, to be visited again", "urls", "kept"),
    ("waiting", "urls", "waiting"),
    ("failed", "urls", "failed"),
    ("denied by robots.txt or a rule", "urls", "denied"),
    ("pages", "pages", "pages"),
    ("pages, all visits", "history", "pages"),
    ("hosts", "pages", "host_count"),
    ("hosts with structured data", "pages", "hosts_with_triples"),
    ("triples stored", "triples", "triples"),
    ("copies, byte for byte", "pages", "copies"),
    ("links", "links", "links"),
    ("order", "urls", "order"),
)
# Curves over time: what of a sample, in which unit, and what it says.
_PAGES = "Pages read since the crawl began, each visit counted; stops are left out."
_CURVES = (
    ("pages", "pages", "Pages over time", _PAGES),
    ("triples", "triples", "Triples over time", "How the yield grew: triples that the store held."),
    ("seen", "URLs", "URLs found over time", "URLs known, fetched or not."),
)
_NO_HISTORY: Found = {"seconds": 0.0, "samples": ()}


def course(crawls: Sequence[Found]) -> Section:
    names, histories = names_of(crawls), [crawl["history"] or _NO_HISTORY for crawl in crawls]
    unit, size = _unit(max(history["seconds"] for history in histories))
    figures = [
        Figure(
            f"course-{key}",
            title,
            sentence,
            "lines",
            names,
            across=f"{unit} of crawling",
            up=up,
            points=[[(s["seconds"] / size, s[key]) for s in each["samples"]] for each in histories],
        )
        for key, up, title, sentence in _CURVES
    ]
    figures.append(
        Figure(
            "course-yield",
            "Triples a page, as the crawl went on",
            "What each further page brought. A falling curve means that the best came first.",
            "lines",
            names,
            across="pages, all visits",
            up="triples a page",
            points=[_yield(history["samples"]) for history in histories],
        )
    )
    rows = [
        [words, *((crawl[source] or {}).get(name) for crawl in crawls)]
        for words, source, name in _TOTALS
    ]
    table = Table(
        "totals",
        "Totals",
        "Found = done + kept + waiting + failed + denied.",
        ["", *names],
        rows,
    )
    return Section(
        "course",
        "The crawl",
        "What was found, and how fast." + _against(crawls),
        [table, *figures],
        note=why_missing(crawls, "history"),
    )


def _unit(seconds: float) -> tuple[str, float]:
    """Return the unit of time that suits a crawl, and its seconds."""
    units = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))
    return next((unit for unit in units if seconds >= 3 * unit[1]), ("seconds", 1.0))


def _yield(samples: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    step = max(1, len(samples) // 40)
    points = []
    for before, after in zip(samples[::step], samples[step::step], strict=False):
        if pages := after["pages"] - before["pages"]:
            points.append((after["pages"], max(0, after["triples"] - before["triples"]) / pages))
    return points


def answers(crawls: Sequence[Found]) -> Section:
    figures = Figures(crawls)
    return Section(
        "answers",
        "Answers",
        "What servers answered, and what became of each URL.",
        [
            figures.bars("statuses", "Status codes", "Answers by their HTTP status."),
            figures.bars(
                "outcomes", "Outcomes", "How each URL ended: a state, and the reason for it."
            ),
            figures.bars("types", "Types", "Pages by the type that their server declares."),
            figures.bars("encodings", "Encodings", "Pages by the encoding they were read in."),
            figures.columns("depths", "Depth", "Pages by their distance from a seed, in links."),
            figures.spread(
                "latencies",
                "Time to answer",
                "Milliseconds until the headers came, in steps of a factor of two.",
                "milliseconds",
            ),
        ],
        note=why_missing(crawls, "pages"),
    )


def left_out(crawls: Sequence[Found]) -> Section:
    facts = [called(crawls, crawl) + fact for crawl in crawls for fact in crawl["left_out"]]
    rejected = Table(
        "rejected",
        "Links turned away",
        "Links that the frontier did not take in, by the limit that they exceed.",
        ["reason", *names_of(crawls)],
        merged([crawl["urls"]["rejected"] for crawl in crawls]),
    )
    return Section(
        "left-out",
        "Left out, and why",
        "What a reader of the numbers above must know: what the crawl did not fetch, keep or store."
        if facts or not rejected.is_empty
        else "Nothing was left out.",
        [rejected],
        facts=facts,
    )


def _against(crawls: Sequence[Found]) -> str:
    return f" {len(crawls)} crawls are compared." if len(crawls) > 1 else ""
