"""The link graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import (
    Figures,
    Found,
    called,
    names_of,
    pairs,
    why_missing,
)
from rdfaspider.terminal import plural

# The greatest distance between the cumulated distributions at which a power law is worth a line.
_NEAR = 0.1
# The columns of the table of hosts, and what they show.
_OF_HOSTS = (
    ("host", "host"),
    ("rank", "rank"),
    ("sum of PageRank", "page_ranks"),
    ("of hubs", "page_hubs"),
    ("of authorities", "page_authorities"),
    ("URLs", "pages"),
    ("links in", "links_in"),
    ("links out", "links_out"),
)
_DEGREES = (
    "How many pages have how many. A straight line is a power law; the dashed one is the best fit."
)
# Scores by place: what they are called, and what they say.
_SCORES = (
    (
        "ranks",
        "PageRank",
        "PageRank is the share of time that somebody who follows links at random spends on a page.",
    ),
    ("hubs", "Hubs", "How good a hub a page is (HITS): a hub links to good authorities."),
    (
        "authorities",
        "Authorities",
        "How good an authority a page is (HITS): good hubs link to it.",
    ),
)


def graph(crawls: Sequence[Found]) -> Section:
    note = why_missing(crawls, "links")
    known = [crawl for crawl in crawls if crawl["links"]]
    if not known:
        return Section("graph", "Link graph", "Who links to whom.", note=note)
    # A crawl without a graph stands beside the others with nothing.
    graphs: list[Found] = [crawl["links"] or {} for crawl in crawls]
    names, figures, first = names_of(crawls), Figures(crawls, "links"), known[0]["links"]
    of = f" Of {known[0]['name']}." if len(crawls) > 1 else ""
    length = max(len(graph.get("levels", ())) for graph in graphs)
    return Section(
        "graph",
        "Link graph",
        "Who links to whom. The graph has every URL that was found; links of pages that were not fetched are"
        " unknown.",
        [
            figures.points(
                "in_degrees", "Links to a page", _DEGREES, "links in", fits=_fits(graphs, "in")
            ),
            figures.points(
                "out_degrees", "Links from a page", _DEGREES, "links out", fits=_fits(graphs, "out")
            ),
            *(
                Figure(
                    key,
                    f"{title} by place",
                    sentence,
                    "points",
                    names,
                    across="place",
                    up="score",
                    points=[[(x, y) for x, y in graph.get(key, ())] for graph in graphs],
                    is_logarithmic=True,
                )
                for key, title, sentence in _SCORES
            ),
            Figure(
                "tie",
                "The bow tie",
                "The core is the largest set of pages that all reach each other; in leads to it, out is"
                " reached from it, tendrils hang on these, the rest has no connection.",
                "bars",
                names,
                up="pages",
                labels=["core", "in", "out", "tendrils", "disconnected"],
                values=[[*graph.get("tie", {}).values()] or [0] * 5 for graph in graphs],
            ),
            figures.bars(
                "kinds",
                "Kinds of links",
                "Followed links, those that ask not to be followed, redirects, and the addresses that pages"
                " call their own.",
                "links",
            ),
            Figure(
                "levels",
                "Reach by depth",
                "Pages by the links it takes from a seed to them.",
                "columns",
                names,
                across="links from a seed",
                up="pages",
                labels=[*map(str, range(length))],
                values=[
                    [*islice(chain(graph.get("levels", ()), repeat(0)), length)] for graph in graphs
                ],
            ),
            Table(
                "best",
                "Pages by PageRank",
                "A hub links to good authorities; a good authority is linked by good hubs (HITS)."
                + of,
                ["URL", "PageRank", "hub", "authority", "links in", "links out"],
                [
                    [each[key] for key in ("url", "pagerank", "hub", "authority", "in", "out")]
                    for each in first["best"]
                ],
            ),
            Table(
                "host-ranks",
                "Hosts by rank",
                "The rank of a host counts links between hosts; the sums are those of the scores of its"
                " pages." + of,
                [name for name, _ in _OF_HOSTS],
                [[each[key] for _, key in _OF_HOSTS] for each in first["hosts"]],
            ),
            Figure(
                "media",
                "Media on a page",
                "How many pages embed or link to how many images, sounds and films. Pages without any are"
                " left out.",
                "points",
                [
                    called(crawls, crawl) + kind
                    for crawl in known
                    for kind in crawl["links"]["media_of_pages"]
                ],
                across="media",
                up="pages",
                points=[
                    pairs(pages)
                    for crawl in known
                    for pages in crawl["links"]["media_of_pages"].values()
                ],
                is_logarithmic=True,
            ),
            Table(
                "domains",
                "Links out of the crawl",
                "Registered domains of links that the scope or the filters of the crawl reject."
                + of,
                ["domain", "links"],
                [[*pair] for pair in first["domains"].items()],
            ),
        ],
        note=note,
        facts=[
            called(crawls, crawl) + fact for crawl in known for fact in _graph_facts(crawl["links"])
        ],
    )


def _graph_facts(graph: Found) -> Iterable[str]:
    yield (
        f"{graph['nodes']:,} URLs, {graph['links']:,} links between them, {graph['outside']:,} to"
        f" URLs outside the crawl, {graph['beyond']:,} beyond its limits, {graph['unfollowed']:,} nofollow to"
        f" URLs that it does not have, {graph['media']:,} images, sounds and films."
    )
    strong = (
        f", {plural(graph['strong'], 'strongly connected component')}"
        if graph["strong"] is not None
        else ""
    )
    yield (
        f"{plural(graph['weak'], 'weakly connected component')}, the largest with"
        f" {plural(graph['largest_weak'], 'URL')}{strong};"
        f" {graph['reciprocity']:.1%} of the links are answered by one in the other direction."
    )
    for key, word in (("inward", "to"), ("outward", "from")):
        degrees = graph[key]
        law = _good(degrees["law"])
        by_law = (
            f"; from {law['start']:,} on they follow a power law with exponent {law['exponent']:.2f}"
            if law
            else ""
        )
        yield (
            f"Links {word} a page: {degrees['mean']:.2f} in the mean, {degrees['most']:,} at most{by_law}."
        )


def _fits(graphs: Sequence[Found], way: str) -> list[Any]:
    """Return the lines of the power laws of links in or out, None where there is none."""
    return [
        _fit(graph[f"{way}_degrees"], _good(graph[f"{way}ward"]["law"])) if graph else None
        for graph in graphs
    ]


def _good(law: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a power law that is near to what was counted, None if it is not."""
    return law if law and law["distance"] <= _NEAR else None


def _fit(counts: Mapping[Any, int], law: Mapping[str, Any] | None) -> Any:
    """Return the two ends of the line of a power law, in the picture of a distribution."""
    if not law:
        return None
    start, last = float(law["start"]), max(float(value) for value in counts)
    weights = sum(value ** -law["exponent"] for value in range(int(start), int(last) + 1))
    first = law["pages"] / weights * start ** -law["exponent"]
    ends = [(start, first)]
    # Where the line would leave the picture, at less than one page.
    end = min(last, start * first ** (1 / law["exponent"])) if first > 1 else last
    ends.append((end, first * (end / start) ** -law["exponent"]))
    return tuple(ends)
