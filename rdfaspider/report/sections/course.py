"""How a crawl went, what servers answered, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import (
    Found,
    bars,
    called,
    columns,
    merged,
    names_of,
    spread,
    why_missing,
)


def course(crawls: Sequence[Found]) -> Section:
    names = names_of(crawls)
    unit, size = _unit(max((c["history"]["seconds"] for c in crawls if c["history"]), default=0.0))
    figures = [
        Figure(
            f"course-{key}",
            title,
            sentence,
            "lines",
            names,
            across=f"{unit} of crawling",
            up=up,
            points=[
                [
                    (each["seconds"] / size, each[key])
                    for each in (crawl["history"] or {"samples": ()})["samples"]
                ]
                for crawl in crawls
            ],
        )
        for key, up, title, sentence in (
            (
                "pages",
                "pages",
                "Pages over time",
                "Pages read since the crawl began, each visit counted; stops are left out.",
            ),
            (
                "triples",
                "triples",
                "Triples over time",
                "How the yield grew: triples that the store held.",
            ),
            ("seen", "URLs", "URLs found over time", "URLs known, fetched or not."),
        )
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
            points=[_yield(crawl["history"]) for crawl in crawls],
        )
    )
    rows = [
        ("URLs found", [crawl["urls"]["seen"] for crawl in crawls]),
        ("done", [crawl["urls"]["done"] for crawl in crawls]),
        ("kept, to be visited again", [crawl["urls"]["kept"] for crawl in crawls]),
        ("waiting", [crawl["urls"]["waiting"] for crawl in crawls]),
        ("failed", [crawl["urls"]["failed"] for crawl in crawls]),
        ("denied by robots.txt or a rule", [crawl["urls"]["denied"] for crawl in crawls]),
        ("pages", [crawl["pages"]["pages"] for crawl in crawls]),
        (
            "pages, all visits",
            [(crawl["history"] or {}).get("pages") for crawl in crawls],
        ),
        ("hosts", [crawl["pages"]["host_count"] for crawl in crawls]),
        ("hosts with structured data", [crawl["pages"]["hosts_with_triples"] for crawl in crawls]),
        ("triples stored", [(crawl["triples"] or {}).get("triples") for crawl in crawls]),
        ("copies, byte for byte", [crawl["pages"]["copies"] for crawl in crawls]),
        ("links", [(crawl["links"] or {}).get("links") for crawl in crawls]),
        ("order", [crawl["urls"]["order"] for crawl in crawls]),
    ]
    table = Table(
        "totals",
        "Totals",
        "Found = done + kept + waiting + failed + denied.",
        ["", *names],
        [[name, *values] for name, values in rows],
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


def _yield(history: Mapping[str, Any] | None) -> list[tuple[float, float]]:
    if not history:
        return []
    samples = history["samples"]
    step = max(1, len(samples) // 40)
    points = []
    for before, after in zip(samples[::step], samples[step::step], strict=False):
        if pages := after["pages"] - before["pages"]:
            points.append((after["pages"], max(0, after["triples"] - before["triples"]) / pages))
    return points


def answers(crawls: Sequence[Found]) -> Section:
    return Section(
        "answers",
        "Answers",
        "What servers answered, and what became of each URL.",
        [
            bars("status", "Status codes", "Answers by their HTTP status.", crawls, "statuses"),
            bars(
                "outcomes",
                "Outcomes",
                "How each URL ended: a state, and the reason for it.",
                crawls,
                "outcomes",
            ),
            bars(
                "types", "Types", "Pages by the type that their server declares.", crawls, "types"
            ),
            bars(
                "encodings",
                "Encodings",
                "Pages by the encoding they were read in.",
                crawls,
                "encodings",
            ),
            columns(
                "depths",
                "Depth",
                "Pages by their distance from a seed, in links.",
                crawls,
                "depths",
            ),
            spread(
                "latency",
                "Time to answer",
                "Milliseconds until the headers came, in steps of a factor of two.",
                crawls,
                "latencies",
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
