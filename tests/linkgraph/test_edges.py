"""The links of a page, and of all pages, come back as they went in."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from rdfaspider.items import MEDIA
from rdfaspider.linkgraph.edges import (
    FOLLOW,
    KINDS,
    NOFOLLOW,
    Links,
    pack,
    pack_numbers,
    pack_rest,
    split,
    unpack,
    with_keys,
)
from rdfaspider.linkgraph.files import adjacency, sorting
from rdfaspider.linkgraph.files.adjacency import Adjacency, AdjacencyWriter
from rdfaspider.linkgraph.files.sorting import Sorter, join, parts
from rdfaspider.linkgraph.files.varints import decode, encode, gaps_to_rows, rows_to_gaps

NUMBERS = some.integers(0, (1 << 40) - 1)
KEYS = some.binary(min_size=1, max_size=30).map(
    lambda key: key.translate(None, b"\n\r\v\f\x1c\x1d\x1e\x85") or b"k"
)
HOSTS = some.from_regex(r"[a-z0-9.:\[\]-]{1,20}", fullmatch=True)
KIND = some.integers(0, len(KINDS) - 1)


@given(
    NUMBERS,
    KIND,
    some.lists(NUMBERS, max_size=60),
    some.lists(some.tuples(KIND, KEYS), max_size=9),
    some.dictionaries(HOSTS, some.integers(1, 1 << 20), max_size=5),
    some.dictionaries(some.sampled_from(MEDIA), some.integers(1, 1 << 20)),
)
def test_a_page(
    page: int,
    kind: int,
    numbers: list[int],
    keys: list[tuple[int, bytes]],
    outside: dict[str, int],
    media: dict[str, int],
) -> None:
    rest = pack_rest(media, outside, [(kind, (key,)) for kind, key in keys])
    packed = pack(page, kind, numbers, with_keys(rest, kind, (b"more",)))
    expected = Links(kind, sorted(set(numbers)), [*keys, (kind, b"more")], outside, media)
    assert unpack(page, packed) == expected
    assert split(packed) == (kind, pack_numbers(page, numbers), with_keys(rest, kind, (b"more",)))


@given(some.lists(some.integers(0, (1 << 60) - 1)))
def test_many_varints(numbers: list[int]) -> None:
    assert decode(encode(np.array(numbers, np.uint64))).tolist() == numbers


@given(some.lists(some.tuples(NUMBERS, some.sets(NUMBERS, max_size=9)), max_size=30))
def test_rows_of_pages_are_what_each_page_is(pages: list[tuple[int, set[int]]]) -> None:
    own = np.array([page for page, _ in pages], np.int64)
    degrees = np.array([len(targets) for _, targets in pages], np.int64)
    targets = np.array([each for _, row in pages for each in sorted(row)], np.int64)
    gaps = rows_to_gaps(own, degrees, targets)
    assert encode(gaps) == b"".join(pack_numbers(page, row) for page, row in pages)
    assert gaps_to_rows(own, degrees, gaps).tolist() == targets.tolist()


@pytest.mark.parametrize("data", (b"\x80", b"\x01\x80", b"\x80" * 12 + b"\x01"))
def test_damaged_varints_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="link graph"):
        decode(data)
    with pytest.raises(ValueError, match="end in the middle"):
        unpack(1, b"\x01\x80")


@pytest.mark.parametrize("size", (1 << 18, 10))
def test_a_file_of_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """In blocks of many and of few links, with a page that has more than fit in one."""
    monkeypatch.setattr(adjacency, "_LINKS", size)
    monkeypatch.setattr(adjacency, "_PAGES", max(size // 2, 1))
    chance = np.random.default_rng(1)
    rows = [sorted(chance.choice(5000, count, replace=False)) for count in (0, 3, 0, 40, 1, 0, 9)]
    kinds = [chance.integers(0, 4, len(row)) for row in rows]
    writer = AdjacencyWriter(tmp_path / "out.links")
    for one, other in ((0, 3), (3, 7)):  # two calls
        degrees = np.array([len(row) for row in rows[one:other]])
        targets, said = np.concatenate(rows[one:other]), np.concatenate(kinds[one:other])
        writer.add(degrees, targets.astype(np.uint32), said)
    writer.close()
    with Adjacency(tmp_path / "out.links") as links:
        assert (links.pages, links.links) == (7, 53)
        for page, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
            ends, said = links.row(page)
            assert ends.tolist() == row
            assert said.tolist() == kind.tolist()
        blocks = list(links.blocks())
        assert [int(end) for block in blocks for end in block.targets] == [
            end for row in rows for end in row
        ]
        with pytest.raises(IndexError):
            links.row(7)


@given(
    some.lists(some.sets(some.integers(0, 12)), min_size=1, max_size=12), some.sampled_from((3, 99))
)
def test_pages_that_have_links_in_common(rows: list[set[int]], size: int) -> None:
    """They are written once for both, whatever else each has."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjacency, "_LINKS", size)
        writer = AdjacencyWriter(Path(folder) / "out.links")
        targets = np.array([end for row in rows for end in sorted(row)], np.uint32)
        kinds = np.arange(len(targets)) % 4
        writer.add(np.array([len(row) for row in rows]), targets, kinds)
        writer.close()
        with Adjacency(Path(folder) / "out.links") as links:
            assert [links.row(page)[0].tolist() for page in range(len(rows))] == list(
                map(sorted, rows)
            )
            assert [kind for block in links.blocks() for kind in block.kinds] == kinds.tolist()


def test_links_in_common_take_less_room(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    sizes = {}
    for shared in (0, 50):
        common = chance.choice(1 << 20, shared, replace=False)
        rows = [
            np.unique(np.append(common, chance.choice(1 << 20, 60 - shared))) for _ in range(300)
        ]
        writer = AdjacencyWriter(tmp_path / f"{shared}.links")
        targets = np.concatenate(rows).astype(np.uint32)
        writer.add(np.array([len(row) for row in rows]), targets, np.full(len(targets), FOLLOW))
        writer.close()
        with Adjacency(tmp_path / f"{shared}.links") as links:
            sizes[shared] = links.size / links.links
    assert sizes[50] < sizes[0] / 4


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    writer = AdjacencyWriter(tmp_path / "out.links")
    writer.add(np.array([2]), np.array([3, 4], np.uint32), np.full(2, FOLLOW))
    writer.close()
    (tmp_path / "out.links").write_bytes(b"x" * 200)
    with (
        Adjacency(tmp_path / "out.links") as links,
        pytest.raises(ValueError, match=r"is damaged: remove .*, and the graph is built again"),
    ):
        links.row(0)
    (tmp_path / "out.links").unlink()
    with pytest.raises(ValueError, match="is damaged"):
        Adjacency(tmp_path / "out.links")
    (tmp_path / "out.links").touch()
    (tmp_path / "out.index").write_bytes(b"x" * 11)
    with pytest.raises(ValueError, match="is damaged"):
        Adjacency(tmp_path / "out.links")


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    rows = [np.unique(chance.choice(200, 9)) for _ in range(60)]
    targets = np.concatenate(rows).astype(np.uint32)
    writer = AdjacencyWriter(tmp_path / "out.links")
    kinds = np.resize([FOLLOW, NOFOLLOW], len(targets))
    writer.add(np.array([len(row) for row in rows]), targets, kinds)
    writer.close()
    whole = (tmp_path / "out.links").read_bytes()
    for place in range(4, len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        (tmp_path / "out.links").write_bytes(damaged)
        with Adjacency(tmp_path / "out.links") as links:
            try:
                (block,) = links.blocks()
            except ValueError as error:
                assert "is damaged" in str(error)
            else:
                assert block.targets.tolist() == targets.tolist()
                assert block.kinds.tolist() == kinds.tolist()


@pytest.mark.parametrize("size", (1 << 22, 16))
def test_links_are_sorted_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(sorting, "_SORTED", size)
    chance = np.random.default_rng(2)
    ones, others = chance.integers(0, 50, 400), chance.integers(0, 50, 400)
    kinds = chance.integers(0, 4, 400)
    sorter = Sorter(tmp_path / "sorting", np.bincount(ones, minlength=50))
    sorter.add(join(ones[:100], others[:100], kinds[:100]))
    sorter.add(join(ones[100:], others[100:], kinds[100:]))
    expected: dict[tuple[int, int], int] = {}
    for one, other, kind in zip(ones.tolist(), others.tolist(), kinds.tolist(), strict=True):
        expected[one, other] = max(kind, expected.get((one, other), 0))
    rows = list(sorter.rows())
    degrees = np.concatenate([each for each, _ in rows])
    columns = parts(np.concatenate([links for _, links in rows]))
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == [(*pair, kind) for pair, kind in sorted(expected.items())]
    assert degrees.tolist() == np.bincount(columns[0], minlength=50).tolist()
    assert not list(tmp_path.iterdir())
