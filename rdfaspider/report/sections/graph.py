"""The link graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.sections.figures import Found, pairs, why_missing
from rdfaspider.terminal import plural

# The greatest distance between the cumulated distributions at which a power law is worth a line.
_NEAR = 0.1
# Stands for the graph of a crawl that has none.
_NONE: Found = {
    "in_degrees": {},
    "out_degrees": {},
    "inward": {"law": None},
    "outward": {"law": None},
    "ranks": [],
    "hubs": [],
    "authorities": [],
    "media_of_pages": {},
    "tie": {},
    "kinds": {},
    "levels": [],
}
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


def graph(crawls: Sequence[Found]) -> Section:
    graphs = [(crawl["name"], crawl["links"] or _NONE) for crawl in crawls]
    known = [each for each in graphs if each[1] is not _NONE]
    if not known:
        return Section(
            "graph", "Link graph", "Who links to whom.", note=why_missing(crawls, "links")
        )
    names = [name for name, _ in graphs]
    first_name, first = known[0]
    of = f" Of {first_name}." if len(crawls) > 1 else ""
    return Section(
        "graph",
        "Link graph",
        "Who links to whom. The graph has every URL that was found; links of pages that were not fetched are"
        " unknown.",
        [
            _degrees("in-degrees", "Links to a page", "in_degrees", "inward", "links in", graphs),
            _degrees(
                "out-degrees", "Links from a page", "out_degrees", "outward", "links out", graphs
            ),
            _scores(
                "ranks",
                "PageRank by place",
                "PageRank is the share of time that somebody who follows links at random spends on a page.",
                graphs,
            ),
            _scores(
                "hubs",
                "Hubs by place",
                "How good a hub a page is (HITS): a hub links to good authorities.",
                graphs,
            ),
            _scores(
                "authorities",
                "Authorities by place",
                "How good an authority a page is (HITS): good hubs link to it.",
                graphs,
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
                values=[[*graph["tie"].values()] or [0] * 5 for _, graph in graphs]
                if any(graph["tie"] for _, graph in graphs)
                else (),
            ),
            Figure(
                "kinds",
                "Kinds of links",
                "Followed links, those that ask not to be followed, redirects, and the addresses that pages"
                " call their own.",
                "bars",
                names,
                up="links",
                labels=[*first["kinds"]],
                values=[
                    [graph["kinds"].get(kind, 0) for kind in first["kinds"]] for _, graph in graphs
                ],
            ),
            _graph_columns(
                "levels",
                "Reach by depth",
                "Pages by the links it takes from a seed to them.",
                graphs,
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
                    f"{name}: {kind}" if len(crawls) > 1 else kind
                    for name, graph in graphs
                    for kind in graph["media_of_pages"]
                ],
                across="media",
                up="pages",
                points=[
                    pairs(pages)
                    for _, graph in graphs
                    for pages in graph["media_of_pages"].values()
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
        note=why_missing(crawls, "links"),
        facts=[
            f"{name}: {fact}" if len(crawls) > 1 else fact
            for name, graph in known
            for fact in _graph_facts(graph)
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


def _degrees(
    key: str, title: str, name: str, fit: str, across: str, graphs: Sequence[tuple[str, Found]]
) -> Figure:
    return Figure(
        key,
        title,
        "How many pages have how many. A straight line is a power law; the dashed one is the best fit.",
        "points",
        [each for each, _ in graphs],
        across=across,
        up="pages",
        points=[pairs(graph[name]) for _, graph in graphs],
        fits=[_fit(graph[name], _good(graph[fit]["law"])) for _, graph in graphs],
        is_logarithmic=True,
    )


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


def _scores(key: str, title: str, sentence: str, graphs: Sequence[tuple[str, Found]]) -> Figure:
    return Figure(
        key,
        title,
        sentence,
        "points",
        [each for each, _ in graphs],
        across="place",
        up="score",
        points=[[(x, y) for x, y in graph[key]] for _, graph in graphs],
        is_logarithmic=True,
    )


def _graph_columns(
    key: str, title: str, sentence: str, graphs: Sequence[tuple[str, Found]]
) -> Figure:
    length = max(len(graph[key]) for _, graph in graphs)
    return Figure(
        key,
        title,
        sentence,
        "columns",
        [name for name, _ in graphs],
        across="links from a seed",
        up="pages",
        labels=[str(level) for level in range(length)],
        values=[[*graph[key], *[0] * (length - len(graph[key]))] for _, graph in graphs],
    )
