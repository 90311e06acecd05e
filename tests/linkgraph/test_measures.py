"""Each measure of the link graph is what networkx says, on graphs of all shapes."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import networkx
import numpy as np
import pytest

from rdfaspider.linkgraph.files import rows
from rdfaspider.linkgraph.hosts import host_links, host_rank, host_sums
from rdfaspider.linkgraph.measures import components
from rdfaspider.linkgraph.measures.degrees import distribution, power_law, reciprocity, zeta
from rdfaspider.linkgraph.measures.ranks import Power, hits, pagerank
from rdfaspider.linkgraph.measures.reach import FAR, distances, reach
from rdfaspider.linkgraph.measures.structure import structure_of
from tests.linkgraph.conftest import Made, Pairs, as_networkx, random_pairs

# Of sixty graphs, some are enough each time.
SEEDS = [pytest.param(seed, marks=pytest.mark.campaign if seed >= 12 else ()) for seed in range(60)]


@pytest.fixture(autouse=True, params=(1 << 18, 7), ids=("whole", "pieces"))
def _piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also read all rows in small pieces."""
    monkeypatch.setattr(rows, "_PIECE", request.param)


@pytest.mark.parametrize("seed", SEEDS)
def test_pagerank(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    expected = networkx.pagerank(as_networkx(nodes, pairs), tol=1e-12, max_iter=1000)
    ours = pagerank(inward, outward.degrees)
    assert ours == pytest.approx([expected[node] for node in range(nodes)], abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_hits(made: Made, seed: int) -> None:
    """Where the greatest eigenvalue is single, the result does not depend on where one begins."""
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    hubs, authorities = hits(inward, outward, Power(most=5000, tolerance=1e-14))
    matrix = np.zeros((nodes, nodes))
    for one, other in pairs:
        matrix[one, other] = 1
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    if not pairs or (nodes > 1 and values[-2] > 0.9 * values[-1]):
        return
    expected = np.abs(vectors[:, -1])
    assert authorities == pytest.approx(expected / expected.sum(), abs=1e-6)
    expected = matrix @ expected
    assert hubs == pytest.approx(expected / expected.sum(), abs=1e-6)


def test_hits_is_what_networkx_says(made: Made) -> None:
    chance = random.Random(1)
    pairs = {(chance.randrange(80), int(80 * chance.random() ** 2)) for _ in range(800)}
    outward, inward = made(80, pairs)
    hubs, authorities = networkx.hits(as_networkx(80, pairs))
    ours = hits(inward, outward)
    assert ours[0] == pytest.approx([hubs[node] for node in range(80)], abs=1e-6)
    assert ours[1] == pytest.approx([authorities[node] for node in range(80)], abs=1e-6)


def test_an_interrupted_rank_goes_on_to_the_same_bits(made: Made, tmp_path: Path) -> None:
    nodes, pairs = 200, {(one, one * 7 % 200) for one in range(150)} | {(3, 4), (9, 4)}
    outward, inward = made(nodes, pairs)
    at_once = pagerank(inward, outward.degrees)
    saved = tmp_path / "saved"
    seen: list[int] = []

    def interrupt(iteration: int, change: float) -> None:
        seen.append(iteration)
        if len(seen) == 5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pagerank(inward, outward.degrees, Power(saved=saved, tell=interrupt))
    later = pagerank(inward, outward.degrees, Power(saved=saved, tell=interrupt))
    assert seen[:6] == [1, 2, 3, 4, 5, 5], "the fifth was not saved yet"
    assert later.tobytes() == at_once.tobytes()


def groups(labels: object) -> set[frozenset[int]]:
    found: dict[int, set[int]] = {}
    for node, label in enumerate(np.asarray(labels).tolist()):
        found.setdefault(label, set()).add(node)
    return {frozenset(each) for each in found.values()}


@pytest.mark.parametrize("seed", SEEDS)
def test_components(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    graph = as_networkx(nodes, pairs)
    weak = {frozenset(each) for each in networkx.weakly_connected_components(graph)}
    assert groups(components.weak(outward)) == weak
    strong = {frozenset(each) for each in networkx.strongly_connected_components(graph)}
    assert groups(components.strong(outward, inward)) == strong


@pytest.mark.parametrize("seed", SEEDS)
def test_bow_tie(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    graph = as_networkx(nodes, pairs)
    tie = components.bow_tie(outward, inward)
    sizes = sorted(map(len, networkx.strongly_connected_components(graph)), reverse=True)
    assert tie.core == sizes[0]
    if len(sizes) > 1 and sizes[1] == sizes[0]:
        return  # which of them is meant is a matter of choice
    core = max(networkx.strongly_connected_components(graph), key=len)
    page = next(iter(core))
    forwards, backwards = networkx.descendants(graph, page), networkx.ancestors(graph, page)
    near = networkx.node_connected_component(graph.to_undirected(), page)
    assert tie.out == len(forwards - core)
    assert tie.into == len(backwards - core)
    assert tie.tendrils == len(near - forwards - backwards - core)
    assert tie.disconnected == nodes - len(near)


def test_the_core_of_the_bow_tie_is_the_largest_component(made: Made) -> None:
    """Not that of the page with the most links, here a hub in a small one."""
    pairs: Pairs = {(0, page) for page in range(1, 40)} | {(page, 0) for page in range(1, 4)}
    pairs |= {(page, 100 + (page - 99) % 30) for page in range(100, 130)}
    tie = components.bow_tie(*made(140, pairs))
    assert tie == (30, 0, 0, 0, 110)


def test_too_many_links_outside_the_core_are_told(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components, "MOST_LINKS", 10)
    pairs: Pairs = {(page, (page + 1) % 20) for page in range(20)}
    pairs |= {(30 + page, 30 + (page + 1) % 20) for page in range(20)} | {(0, 2), (2, 0)}
    structure = structure_of(*made(60, pairs), np.array([0]))
    assert structure.strong is None
    assert structure.weak == 22


@pytest.mark.parametrize("seed", SEEDS)
def test_distances(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, _ = made(nodes, pairs)
    sources = np.array(sorted({0, nodes // 2}))
    expected = dict.fromkeys(range(nodes), FAR)
    for node, length in networkx.multi_source_dijkstra_path_length(
        as_networkx(nodes, pairs), set(sources.tolist())
    ).items():
        expected[node] = length
    assert distances(outward, sources).tolist() == [expected[node] for node in range(nodes)]
    reached = reach((outward,), sources)
    assert reached.tolist() == [expected[node] != FAR for node in range(nodes)]


@pytest.mark.parametrize("seed", SEEDS)
def test_reciprocity(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    without_loops = {(one, other) for one, other in pairs if one != other}
    graph = as_networkx(nodes, without_loops)
    expected = networkx.overall_reciprocity(graph) if without_loops else 0.0
    assert reciprocity(outward, inward) == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_degrees(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, inward = made(nodes, pairs)
    graph = as_networkx(nodes, pairs)
    for ours, theirs in ((outward, graph.out_degree), (inward, graph.in_degree)):
        assert ours.degrees.tolist() == [degree for _, degree in sorted(theirs)]
        values, counts = distribution(ours.degrees)
        expected = Counter(degree for _, degree in theirs)
        assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_hosts(made: Made, seed: int) -> None:
    nodes, pairs = random_pairs(seed)
    outward, _ = made(nodes, pairs)
    hosts = max(nodes // 3, 1)
    host_of_each = np.array([node * hosts // nodes for node in range(nodes)], np.uint32)
    links = host_links(outward, host_of_each, hosts)
    expected = Counter((one * hosts // nodes, other * hosts // nodes) for one, other in pairs)
    columns = (each.tolist() for each in links)
    assert {(one, other): count for one, other, count in zip(*columns, strict=True)} == expected
    between: Pairs = {(one, other) for one, other in expected if one != other}
    ranks = networkx.pagerank(as_networkx(hosts, between), tol=1e-12, max_iter=1000)
    ours = host_rank(links, hosts)
    assert ours == pytest.approx([ranks[host] for host in range(hosts)], abs=1e-9)
    sums = host_sums(host_of_each, np.ones(nodes), hosts)
    assert sums.sum() == nodes


def test_zeta_has_its_known_values() -> None:
    assert zeta(2.0, 1.0) == pytest.approx(math.pi**2 / 6, abs=1e-9)
    assert zeta(4.0, 1.0) == pytest.approx(math.pi**4 / 90, abs=1e-9)
    assert zeta(2.5, 7.0) == pytest.approx(zeta(2.5, 1.0) - sum(n**-2.5 for n in range(1, 7)))


@pytest.mark.parametrize(
    "exponent",
    (
        pytest.param(1.7, marks=pytest.mark.campaign),
        2.1,
        pytest.param(3.0, marks=pytest.mark.campaign),
    ),
)
def test_a_power_law_is_found_again(exponent: float) -> None:
    """Also where small values follow another law."""
    chance = np.random.default_rng(3)
    # The inverse of the law, drawn from its exact sums.
    shares = np.array([zeta(exponent, float(value)) for value in range(5, 20_000)])
    shares /= shares[0]
    drawn = 5 + np.searchsorted(-shares, -chance.random(30_000), "left") - 1
    small = chance.integers(1, 5, 30_000)
    law = power_law(*distribution(np.concatenate((drawn, small))))
    assert law is not None
    assert law.exponent == pytest.approx(exponent, abs=0.06)
    assert 5 <= law.start <= 30
    assert law.distance < 0.02


def test_few_values_have_no_law() -> None:
    assert power_law(np.array([1, 2]), np.array([3, 4])) is None
    assert power_law(np.zeros(0, np.int64), np.zeros(0, np.int64)) is None
