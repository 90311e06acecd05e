"""What the link graph says of a crawl: ranks, degrees, structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rdfaspider.linkgraph.edges import KINDS
from rdfaspider.linkgraph.measures.degrees import distribution
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from rdfaspider.frontier.views.graph import CrawlGraph
    from rdfaspider.linkgraph.files.varints import Array
    from rdfaspider.linkgraph.measures.structure import Degrees


def findings_of(crawl: CrawlGraph, most: int) -> dict[str, Any]:
    """Return what the graph of a crawl says."""
    about = crawl.graph.about
    ranks = crawl.ranks()
    structure = crawl.structure()
    outward, inward = crawl.rows
    best = np.argsort(-ranks.pagerank, kind="stable")[:most]
    return {
        "nodes": crawl.graph.nodes,
        "links": about["links"],
        "pages": about.get("pages", 0),
        "kinds": {kind: about.get(kind, 0) for kind in KINDS},
        "media": about.get("media", 0),
        "media_of_pages": {
            kind: {int(count): found for count, found in pages.items()}
            for kind, pages in about.get("media_of_pages", {}).items()
        },
        "outside": about.get("outside", 0),
        "beyond": about.get("beyond", 0),
        "unfollowed": about.get("unfollowed", 0),
        "domains": dict([*about.get("domains", {}).items()][:most]),
        "in_degrees": _distribution(inward.degrees),
        "out_degrees": _distribution(outward.degrees),
        "inward": _degrees(structure.inward),
        "outward": _degrees(structure.outward),
        "weak": structure.weak,
        "largest_weak": structure.largest_weak,
        "strong": structure.strong,
        "tie": structure.tie._asdict() if structure.tie else {},
        "reciprocity": structure.reciprocity,
        "levels": structure.levels,
        "unreached": structure.unreached,
        "ranks": _by_place(ranks.pagerank),
        "hubs": _by_place(ranks.hubs),
        "authorities": _by_place(ranks.authorities),
        "best": [
            {
                "url": without_userinfo(url),
                "pagerank": float(ranks.pagerank[node]),
                "hub": float(ranks.hubs[node]),
                "authority": float(ranks.authorities[node]),
                "in": int(inward.degrees[node]),
                "out": int(outward.degrees[node]),
            }
            for node, url in zip(best.tolist(), crawl.names(best), strict=True)
        ],
        "hosts": _hosts(crawl, most),
    }


def _distribution(degrees: Array) -> dict[int, int]:
    values, counts = distribution(degrees)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _degrees(degrees: Degrees) -> dict[str, Any]:
    law = degrees.law
    return {"most": degrees.most, "mean": degrees.mean, "law": law._asdict() if law else None}


def _by_place(scores: Array) -> list[tuple[int, float]]:
    """Return scores above 0 by their place, for some places that are even on a logarithmic axis."""
    ordered = np.sort(scores[scores > 0])[::-1]
    places = np.unique(np.geomspace(1, max(1, len(ordered)), 80).astype(np.int64))
    return [(int(place), float(ordered[place - 1])) for place in places if place <= len(ordered)]


def _hosts(crawl: CrawlGraph, most: int) -> list[dict[str, Any]]:
    values = crawl.host_values()
    best = np.argsort(-values["rank"], kind="stable")[:most]
    names = crawl.graph.hosts
    return [
        {"host": names[host], **{key: values[key][host].item() for key in values}}
        for host in best.tolist()
    ]
