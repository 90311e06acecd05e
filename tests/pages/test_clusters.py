"""Near copies are found among many sketches, and only they are."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from rdfaspider.extract import Options, extract
from rdfaspider.pages.analysis import Analysed, AnalysisTable, TextFacts
from rdfaspider.pages.clusters import clusters, similarities
from rdfaspider.pages.nearcopies import ALIKE, find_near_copies, stars
from rdfaspider.pages.sketch import EMPTY, similarity, sketch_of
from tests.pages.test_sketch import runs, texts


def as_array(sketches: list[bytes]) -> NDArray[np.uint32]:
    return np.frombuffer(b"".join(sketches), "<u4").reshape(-1, 32)


def groups(labels: list[int]) -> set[frozenset[int]]:
    found: dict[int, set[int]] = {}
    for index, label in enumerate(labels):
        found.setdefault(label, set()).add(index)
    return {frozenset(group) for group in found.values() if len(group) > 1}


def test_groups_of_the_same_text_are_found_exactly() -> None:
    numbers = Random(1)
    kinds = [sketch_of(texts(numbers, 0.0)[0])[1] for _ in range(300)]
    drawn = [numbers.randrange(300) for _ in range(2000)]
    labels = clusters(as_array([kinds[kind] for kind in drawn]))
    assert groups(labels.tolist()) == groups([drawn.index(kind) for kind in drawn])
    assert all(labels[label] == label <= index for index, label in enumerate(labels.tolist()))


def test_estimates_of_pairs_are_those_of_sketches() -> None:
    numbers = Random(2)
    each = [sketch_of(text)[1] for text in texts(numbers, 0.1) + texts(numbers, 0.3, size=30)]
    left, right = np.array([0, 0, 2, 1], np.int32), np.array([1, 2, 3, 1], np.int32)
    found = similarities(as_array(each), left, right)
    expected = [similarity(each[a], each[b]) for a, b in zip(left, right, strict=True)]
    assert found.tolist() == pytest.approx(expected)


def test_empty_bands_join_nothing() -> None:
    """Short texts have many empty bins."""
    sketches = np.full((100, 32), EMPTY, np.uint32)
    for row in range(100):
        sketches[row, row % 32] = row
    assert clusters(sketches).tolist() == list(range(100))
    assert clusters(sketches[:0]).tolist() == []


def test_a_chain_is_taken_apart() -> None:
    """Each text is like the next, and the first is unlike the last."""
    numbers = Random(3)
    words = [f"w{number}" for number in range(400)]
    chain = []
    for _ in range(40):
        chain.append(" ".join(words))
        start = numbers.randrange(390)
        words[start : start + 10] = [f"n{numbers.random()}" for _ in range(10)]
    sketches = as_array([sketch_of(text)[1] for text in chain])
    labels = clusters(sketches)
    assert len(set(labels.tolist())) == 1
    times = np.arange(40, dtype=np.uint32)[::-1].copy()  # the last was fetched first
    members, firsts, alike = stars(sketches, labels, times)
    assert len(set(firsts.tolist())) > 2
    assert (alike >= ALIKE).all()
    assert all(times[first] <= times[one] for one, first in zip(members, firsts, strict=True))
    assert 39 in firsts.tolist()


def words_of(path: Path) -> list[str]:
    options = Options(formats=frozenset(), text=100_000)
    return extract(path.read_bytes(), "http://a.test/", options=options).facts.text.split()


def test_near_copies_of_real_pages(vectors: Path) -> None:
    """Against the exact similarity of their runs of three words."""
    numbers = Random(4)
    pages = []
    for path in sorted((vectors / "pages").glob("*.html")):
        words = words_of(path)
        for changes in (0, 1, 2, 5, 10, 20, 40, 80, 160):
            copy = list(words)
            for _ in range(changes * len(words) // 1000):
                copy[numbers.randrange(len(copy))] = f"new{numbers.random()}"
            pages.append(" ".join(copy) + f" page {path.name} {changes}")
    sketches = as_array([sketch_of(text)[1] for text in pages])
    members, firsts, _ = stars(sketches, clusters(sketches), np.arange(len(pages), dtype=np.uint32))
    first = dict(zip(members.tolist(), firsts.tolist(), strict=True))
    found = {(a, b) for a, b in combinations(sorted(first), 2) if first[a] == first[b]}
    each = [runs(text) for text in pages]
    exact = {
        (a, b): len(each[a] & each[b]) / len(each[a] | each[b])
        for a, b in combinations(range(len(pages)), 2)
    }
    alike = {pair for pair, share in exact.items() if share >= 0.8}
    assert len(alike) > 60
    assert len(found & alike) / len(alike) >= 0.97
    assert all(exact[pair] >= 0.5 for pair in found)


def test_clusters_of_an_analysis_are_replaced(tmp_path: Path) -> None:
    numbers = Random(5)
    one, changed = texts(numbers, 0.01)
    alone, _ = texts(numbers, 0.0)
    with AnalysisTable(tmp_path / "texts") as table:
        assert find_near_copies(table, tmp_path) == 0
        for number, text in enumerate((changed, one, alone)):
            digest = bytes([number]) * 20
            sketch = sketch_of(text)[1]
            table.put([Analysed(digest, TextFacts("en", 90, 400), sketch, 100 - number)])
        table.put([Analysed(b"s" * 20, TextFacts(), b"", 1)])
        for _ in range(2):
            assert find_near_copies(table, tmp_path) == 2
    with AnalysisTable(tmp_path / "texts", read_only=True) as table:
        digests = [bytes([number]) * 20 for number in range(3)]
        near = table.clusters([*digests, b"?" * 20])
        assert near[2] is near[3] is None
        assert near[0] and near[1]
        assert near[0].first == near[1].first == b"\1" * 10, "it was fetched first"
        assert near[1].similarity == 1.0 > near[0].similarity > 0.8
        assert table.facts([digests[0], b"s" * 20, b"?" * 20]) == [
            TextFacts("en", 90, 400),
            TextFacts(),
            None,
        ]
    assert [path.name for path in tmp_path.iterdir()] == ["texts"], "nothing is left behind"
