from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from rdfaspider.stores import StoreDown, StoreUnavailable, nquads
from rdfaspider.stores.nquads import NQuadsStore
from rdfaspider.stores.nquads.file import rewrite

NAME = NamedNode("http://schema.org/name")


def page(number: int, text: str = "x") -> tuple[str, list[Quad]]:
    graph = f"http://site.test/{number}"
    return graph, [Quad(NamedNode(graph), NAME, Literal(text), NamedNode(graph))]


def test_files_are_rotated_and_every_loader_can_read_them(tmp_path: Path) -> None:
    for start in (0, 50):
        with NQuadsStore(str(tmp_path), file_bytes=1_000) as store:
            for number in range(start, start + 50):
                store.replace(*page(number))
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files[:2]] == ["pages-00001.nq.gz", "pages-00002.nq.gz"]
    assert all(1_000 <= file.stat().st_size < 1_300 for file in files[:-1])
    lines = b"".join(gzip.decompress(file.read_bytes()) for file in files)
    assert len(set(parse(lines, RdfFormat.N_QUADS))) == 100


@pytest.mark.parametrize("torn", [1, 5, 30, 70])
def test_a_torn_tail_is_cut_off(tmp_path: Path, torn: int) -> None:
    with NQuadsStore(str(tmp_path)) as store:
        store.replace(*page(1))
    (file,) = tmp_path.iterdir()
    size = file.stat().st_size
    with NQuadsStore(str(tmp_path)) as store:
        store.replace(*page(2))
    whole = file.read_bytes()
    file.write_bytes(whole[: size + torn])
    with NQuadsStore(str(tmp_path)) as store:
        assert file.stat().st_size == size
        store.replace(*page(3))
        assert [quad.subject.value[-1] for quad in store.quads()] == ["1", "3"]  # type: ignore[union-attr]


def test_what_is_no_gzip_is_cut_off_too(tmp_path: Path) -> None:
    with NQuadsStore(str(tmp_path)) as store:
        store.replace(*page(1))
    (file,) = tmp_path.iterdir()
    with file.open("ab") as tail:
        tail.write(b"\0" * 100)
    with NQuadsStore(str(tmp_path)) as store:
        assert store.count() == 1


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with NQuadsStore(str(tmp_path)) as store:
        store.replace(*page(1))
        (file,) = tmp_path.iterdir()
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 20, before[1]))
        try:
            with pytest.raises(StoreDown, match="cannot be written to"):
                store.replace(*page(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        store.replace(*page(3))
        assert [quad.subject.value[-1] for quad in store.quads()] == ["1", "3"]  # type: ignore[union-attr]


def test_what_is_removed_is_in_no_file(tmp_path: Path) -> None:
    with NQuadsStore(str(tmp_path), file_bytes=400) as store:
        for version in ("old", "new"):
            for number in range(20):
                store.replace(*page(number, f"{version} {number}."))
        files = len([*tmp_path.iterdir()])
        assert files > 4
        store.remove([f"http://site.test/{number}" for number in range(1, 20)])
        assert [quad.object.value for quad in store.quads()] == ["new 0."]  # type: ignore[union-attr]
        text = b"".join(gzip.decompress(file.read_bytes()) for file in tmp_path.iterdir())
        assert b"old 0." in text
        assert b"old 1." not in text
        assert len([*tmp_path.iterdir()]) < files
        store.remove(["http://site.test/0"])
        assert not [*tmp_path.iterdir()]
        store.replace(*page(3))
        assert store.count() == 1


def test_a_removal_that_dies_between_two_files_shows_no_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NQuadsStore(str(tmp_path), file_bytes=1) as store:
        store.replace(*page(1, "old"))
        store.replace(*page(2, "other"))
        store.replace(*page(1, "new"))
        rewritten: list[Path] = []

        def die(path: Path, removed: set[bytes]) -> None:
            if rewritten:
                raise KeyboardInterrupt
            rewritten.append(path)
            rewrite(path, removed)

        monkeypatch.setattr(nquads, "rewrite", die)
        with pytest.raises(KeyboardInterrupt):
            store.remove(["http://site.test/1"])
    with NQuadsStore(str(tmp_path)) as store:
        assert {quad.object.value for quad in store.quads()} == {"other", "new"}  # type: ignore[union-attr]


def test_files_cannot_be_queried(tmp_path: Path) -> None:
    with NQuadsStore(str(tmp_path)) as store, pytest.raises(StoreUnavailable, match="export"):
        store.query("ASK {}")
    with pytest.raises(StoreUnavailable, match="no N-Quads files"):
        NQuadsStore(str(tmp_path / "nowhere"), read_only=True)
