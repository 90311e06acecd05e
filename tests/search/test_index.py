"""The index: what is found in it, what leaves it, and what survives."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rdfaspider.search import index as module
from rdfaspider.search.index import NAME, Index, IndexFailed, PageWords
from rdfaspider.search.reading import NoIndex, Reader, unmarked
from tests.conftest import PROJECT
from tests.search.conftest import CAKE, SCHEMA, TART, A, B, C, folder, triples


def names(path: Path, words: str, type_: str = "") -> list[str]:
    with Reader(path) as reader:
        return [result.name for result in reader.search(words, type_).results]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    with Index(folder(tmp_path)) as index:
        index.put([CAKE, TART])
    return tmp_path


def test_words_find_things_with_names_types_and_pages(filled: Path) -> None:
    with Reader(filled) as reader:
        answer = reader.search("lemon")
    first, second = answer.results
    assert (first.name, first.subject, first.page, first.time) == (
        "Lemon cake",
        f"{A}#cake",
        A,
        100.0,
    )
    assert first.types == [f"{SCHEMA}Recipe"]
    assert (second.name, second.page) == ("Apple tart", B)
    assert second.words == "A \x02lemon\x03 or two on top"
    assert unmarked(second.words) == "A lemon or two on top"
    assert (answer.matches, answer.found, answer.is_cut, answer.any_of) == (2, 2, False, False)


def test_an_unknown_prefix_is_named(filled: Path) -> None:
    known = r"^The prefix 'nope' is unknown, and nothing has the type nope:X\. Known are .*schema, "
    with pytest.raises(ValueError, match=known):
        names(filled, "lemon", "nope:X")
    assert names(filled, "lemon", "schema:Nope") == []
    assert names(filled, "lemon", "https://nope.test/X") == []


def test_an_iri_without_slashes_is_no_prefix(tmp_path: Path) -> None:
    page = triples(f"{A}#cake", "Cake", name="Lemon cake").replace(
        f"<{SCHEMA}Cake>".encode(), b"<urn:example:Cake>"
    )
    with Index(folder(tmp_path)) as index:
        index.put([PageWords(A, page, "", "", 100.0)])
    assert names(tmp_path, "", "urn:example:Cake") == ["Lemon cake"]


@pytest.mark.parametrize("type_", ["schema:Person", "Person", "person", f"<{SCHEMA}Person>"])
def test_a_type_narrows(filled: Path, type_: str) -> None:
    assert names(filled, "ann", type_) == ["Ann Zest"]
    assert names(filled, "", type_) == ["Ann Zest"]
    assert names(filled, "lemon", type_) == []


def test_schema_org_is_one_vocabulary(tmp_path: Path) -> None:
    said = triples(A, "Recipe", name="Pie").replace(b"http://schema", b"https://schema")
    with Index(folder(tmp_path)) as index:
        index.put([PageWords(A, said), PageWords(B, triples(B, "Recipe", name="Pie"))])
    assert names(tmp_path, "pie", "schema:Recipe") == ["Pie", "Pie"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("cake butter", ["Lemon cake"]),
        ('"lemon cake"', ["Lemon cake"]),
        ('"cake lemon"', []),
        ("lemon -butter", ["Apple tart"]),
        ("lem*", ["Lemon cake", "Apple tart"]),
        ("lem", []),
        ("LÉMON", ["Lemon cake", "Apple tart"]),
        ("lemon-cake", ["Lemon cake"]),
        ("lemon OR x NOT (y", ["Lemon cake", "Apple tart"]),
        ('lemon" AND types : t1', ["Lemon cake", "Apple tart"]),
        ("zzz", []),
    ],
)
def test_what_users_type(filled: Path, words: str, found: list[str]) -> None:
    got = names(filled, words)
    assert (
        got == found
        if " OR " not in words and "types" not in words
        else set(found) <= {*got, *found}
    )


@pytest.mark.parametrize("words", ["", "  ", "!!", '"', "-lemon", '""', "*", "-", "( ) :"])
def test_without_words_there_is_a_sentence(filled: Path, words: str) -> None:
    with pytest.raises(ValueError, match="Give words"):
        names(filled, words)


def test_some_words_are_better_than_none(filled: Path) -> None:
    with Reader(filled) as reader:
        answer = reader.search("lemon zzz")
    assert answer.any_of
    assert [result.name for result in answer.results] == ["Lemon cake", "Apple tart"]


def test_a_thing_on_several_pages_is_one_result(filled: Path) -> None:
    with Index(folder(filled)) as index:
        index.put([PageWords(C, triples(f"{A}#cake", name="Lemon cake"))])
    with Reader(filled) as reader:
        cake = next(each for each in reader.search("cake").results if each.subject == f"{A}#cake")
    assert cake.pages == 2


def test_ranks_of_pages_count(filled: Path) -> None:
    with Reader(filled) as reader:
        answer = reader.search("lemon", ranks=lambda urls: {B: 4096.0, A: 0.01})
        assert [result.name for result in answer.results] == ["Apple tart", "Lemon cake"]
        assert answer.results[0].rank == 4096.0


def test_a_changed_page_is_found_by_its_new_words_only(filled: Path) -> None:
    with Index(folder(filled)) as index:
        index.put([CAKE._replace(triples=triples(f"{A}#cake", "Cake", name="Orange cake"))])
    assert names(filled, "orange") == ["Orange cake"]
    assert names(filled, "lemon") == ["Apple tart"]
    with Reader(filled) as reader:
        assert dict(reader.types()) == {f"{SCHEMA}Cake": 1, f"{SCHEMA}Recipe": 1}


def test_an_empty_or_removed_page_leaves_nothing(filled: Path) -> None:
    with Index(folder(filled)) as index:
        index.put([PageWords(A, b"")])
        assert index.remove(lambda url: url == B) == 1
    with Reader(filled) as reader:
        assert reader.size() == (0, 0)
        assert reader.types() == reader.predicates() == reader.vocabularies() == []
        assert reader.search("lemon").results == []


def test_the_same_page_again_only_has_another_time(filled: Path) -> None:
    with Index(folder(filled)) as index:
        index.put([CAKE._replace(time=300.0)])
        assert index.counters["search/pages"] == 0
    with Reader(filled) as reader:
        assert reader.search("butter").results[0].time == 300.0


def test_types_predicates_and_vocabularies_are_counted(filled: Path) -> None:
    with Reader(filled) as reader:
        assert dict(reader.types()) == {f"{SCHEMA}Recipe": 2, f"{SCHEMA}Person": 1}
        assert [term.iri for term in reader.types("pers")] == [f"{SCHEMA}Person"]
        assert dict(reader.predicates("schema")) == {
            f"{SCHEMA}name": 3,
            f"{SCHEMA}description": 2,
        }
        assert dict(reader.vocabularies("b.test"))[SCHEMA] == 2
        assert dict(reader.vocabularies())[SCHEMA] == 5
        assert dict(reader.hosts(SCHEMA)) == {"a.test": 3, "b.test": 2}


def test_there_is_one_writer(filled: Path) -> None:
    with Index(folder(filled)), pytest.raises(IndexFailed, match="another process"):
        Index(folder(filled))


def test_without_an_index_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoIndex, match="SEARCH=1"):
        Reader(tmp_path)


def test_readers_see_what_is_written_meanwhile(filled: Path) -> None:
    with Index(folder(filled)) as index:
        assert names(filled, "orange") == []
        index.put([PageWords(C, triples(C, name="Orange"))])
        assert names(filled, "orange") == ["Orange"]


@pytest.mark.parametrize("damage", ["text", "head", "half"])
def test_a_damaged_index_begins_anew(filled: Path, damage: str) -> None:
    path = folder(filled) / NAME
    body = path.read_bytes()
    if damage == "text":
        path.write_bytes(b"no database" * 100)
    elif damage == "head":
        path.write_bytes(b"\xff" * 4096 + body[4096:])
    else:
        path.write_bytes(body[: len(body) // 2 // 4096 * 4096])
    try:
        with Index(folder(filled)) as index:
            assert not index.is_whole
            index.put([TART])
        assert names(filled, "lemon") == ["Apple tart"]
    except IndexFailed:
        assert damage == "half", "only reading shows that its end is missing"


def test_the_death_of_the_machine_is_noticed(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index(folder(filled))
    index.set_whole()
    index._database.close()  # as if it were gone
    index._lock.close()
    with Index(folder(filled)) as again:
        assert again.is_whole, "a kill loses nothing"
        again._tell("opened", "another boot")
        monkeypatch.setattr(again, "_tell", lambda *_: None)
    with Index(folder(filled)) as anew:
        assert not anew.is_whole
    with Reader(filled) as reader:
        assert reader.size() == (0, 0)


def test_an_older_version_is_built_again(filled: Path) -> None:
    with sqlite3.connect(folder(filled) / NAME) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with Index(folder(filled)) as index:
        assert not index.is_whole


_WRITER = """
import sys
from pathlib import Path
from rdfaspider.search.index import Index, PageWords
index = Index(Path(sys.argv[1]))
for number in range(10**6):
    page = f"http://h{number % 50}.test/"
    said = f'<{page}> <http://schema.org/name> "word number{number}" .\\n'
    index.put([PageWords(page, said.encode())])
    print(number, flush=True)
"""


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(folder(tmp_path))],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )
        assert process.stdout
        last = [process.stdout.readline() for _ in range(300)][-1]
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        number = int(rest[-1] if rest else last)
        process.stdout.close()
        with Reader(tmp_path) as reader:
            assert reader.size() == (50, 50)
            assert reader.search(f"number{number}").matches == 1
            assert reader.search(f"number{number - 50}").matches == 0
            assert dict(reader.predicates())[f"{SCHEMA}name"] == 50


def test_an_answer_about_a_common_word_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rdfaspider.search import reading

    monkeypatch.setattr(reading, "SCORED", 10)
    with Index(folder(tmp_path)) as index:
        index.put([PageWords(f"{A}0", triples(f"{A}0", name="the word", text="x"))])
        index.put(
            [
                PageWords(f"{A}{number}", triples(f"{A}{number}", name="other", text="word"))
                for number in range(1, 40)
            ]
        )
    with Reader(tmp_path) as reader:
        answer = reader.search("word")
    assert answer.is_cut
    assert answer.results[0].name == "the word", "a name is found however old it is"
    assert len(answer.results) == 11


def test_a_search_that_takes_too_long_ends(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rdfaspider.search import reading

    monkeypatch.setattr(reading, "_SECONDS", -1.0)
    monkeypatch.setattr(reading, "_STEPS", 1)
    with pytest.raises(ValueError, match="takes too long"):
        names(filled, "lemon")


def test_a_full_disk_fails_with_a_sentence(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(folder(filled)) as index:
        index._database.execute("PRAGMA query_only = 1")
        with pytest.raises(IndexFailed, match="cannot be written"):
            index.put([PageWords(C, triples(C, name="x"))])
    assert module.last_of("http://schema.org/Recipe") == "recipe"
