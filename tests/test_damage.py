"""What becomes of a crawl whose files were damaged: a sentence and nothing else, or what is right.

One small crawl is made for each kind of store, and killed or ended. Each test damages one file of a copy
and then runs what a user would run. Commands that only read may change nothing at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from scrapy.cmdline import execute

from rdfaspider.frontier import open_frontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_sink, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.journal import Journal
from rdfaspider.stores.outbox.database import OutboxDatabase

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1]
SITE = Parameters(seed=1, levels=2, pages=4)
FILES = "nquads:{jobdir}/pages"
ALL = "SELECT * { GRAPH ?g { ?s ?p ?o } }"


class Ended(NamedTuple):
    """What a command has left: its exit code and what it said."""

    code: int
    output: str
    errors: str


# --- crawls to be damaged ---


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the crawls: `embedded` and `files` were stopped, `killed` was killed in the midst."""
    path = tmp_path_factory.mktemp("crawls")
    with running(SITE) as origin:
        for name, url in (("embedded", "{jobdir}/store"), ("files", FILES)):
            ended = crawl(path, name, origin, STORE_URL=url, CLOSESPIDER_PAGECOUNT=10)
            assert ended.code == 0, ended.errors
        shutil.copytree(path / "embedded", path / "killed")
        process = start(path, "killed", origin, POLITENESS_DELAY=0.05)
        journal = path / "killed" / "store" / "journal"
        deadline = time.monotonic() + 60
        while not Journal.waits_in(journal) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert Journal.waits_in(journal)
    assert any(file.stat().st_size for file in (path / "killed" / "frontier").glob("*.log"))
    with OutboxDatabase(str(path / "files" / "outbox"), target="other") as database:
        for number in range(3):
            graph = f"http://site.test/{number}"
            text = f'<{graph}> <{graph}> "x" <{graph}> .\n'.encode()
            database.put([(Change.of_page(graph, text), b"")])
    return path


def start(directory: Path, name: str, seeds: str, **settings: object) -> subprocess.Popen[str]:
    options = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "JOBDIR": name, **settings}
    if "POLITENESS_DELAY" in settings:
        del options["POLITENESS_OFF_FOR_OWN_SERVERS"]
    words = [word for k, v in options.items() for word in ("-s", f"{k}={v}")]
    arguments = ["-a", f"seeds={seeds}"] if seeds else []
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", *arguments, *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}."},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def crawl(directory: Path, name: str, seeds: str = "", **settings: object) -> Ended:
    with start(directory, name, seeds, **settings) as process:
        output, errors = process.communicate(timeout=120)
    return Ended(process.returncode, output, errors)


@pytest.fixture
def copied(crawls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that copies a crawl into the working directory, as `crawl`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")

    def copy(name: str) -> Path:
        shutil.copytree(crawls / name, tmp_path / "crawl")
        return Path("crawl")

    return copy


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function that runs a command of the project in this process."""

    def run(*arguments: str, store: str = "{jobdir}/store") -> Ended:
        settings = ["-s", "JOBDIR=crawl", "-s", f"STORE_URL={store}"]
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            execute(["scrapy", *arguments, *settings])
        output, errors = capsys.readouterr()
        return Ended(int(exit_.value.code or 0), output, errors)

    return run


Run = Callable[..., Ended]
Copied = Callable[[str], Path]


def state(directory: Path) -> dict[str, str]:
    """Return what is in a directory, file by file; logs for people and locks are left out."""
    return {
        str(path): hashlib.blake2b(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        for path in directory.rglob("*")
        if not path.name.startswith(("LOG", "LOCK"))
    }


def is_sentence(ended: Ended, *words: str) -> bool:
    """Tell whether a command has failed with one sentence that has these words."""
    lines = [line for line in ended.errors.splitlines() if " INFO " not in line]
    return (
        ended.code == 1
        and len(lines) == 1
        and lines[0].startswith("scrapy ")
        and all(word in lines[0] for word in words)
    )


# --- damages ---


def missing(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path, place: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    if data:  # a file that a killed process had only begun is empty
        data[len(data) // 3 if place is None else place] ^= 0xFF
    path.write_bytes(data)


def text(path: Path) -> None:
    path.write_text("This is a letter to my aunt.\n")


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


HEADS = [
    pytest.param(pattern, damage, id=f"{pattern}-{damage.__name__}")
    for pattern in ("CURRENT", "MANIFEST-*")
    for damage in (missing, empty, cut, flipped, text, a_directory)
]
TABLES = [
    pytest.param("*.sst", damage, id=damage.__name__) for damage in (missing, empty, cut, flipped)
]


@pytest.mark.parametrize(("pattern", "damage"), [*HEADS, *TABLES])
@pytest.mark.parametrize("name", ["embedded", "killed"])
def test_a_damaged_frontier(
    copied: Copied, run: Run, name: str, pattern: str, damage: Callable[[Path], None]
) -> None:
    path = copied(name) / "frontier"
    for file in path.glob(pattern):  # all of them: of a killed one some are of no use any more
        damage(file)
    before = state(Path("crawl"))
    for _ in range(2):
        assert is_sentence(run("frontier"), "crawl/frontier is damaged")
        assert is_sentence(run("frontier", "--requeue", "."), "crawl/frontier is damaged")
        assert state(Path("crawl")) == before
        with pytest.raises(OSError, match="crawl/frontier is damaged"):
            open_frontier("crawl/frontier")
        assert state(Path("crawl")) == before, "a crawl that cannot go on leaves it as it is"


@pytest.mark.parametrize(("pattern", "damage"), [*HEADS, *TABLES])
@pytest.mark.parametrize("name", ["embedded", "killed"])
def test_a_damaged_store(
    copied: Copied, run: Run, name: str, pattern: str, damage: Callable[[Path], None]
) -> None:
    path = copied(name) / "store"
    for file in path.glob(pattern):  # all of them: of a killed one some are of no use any more
        damage(file)
    before = state(Path("crawl"))
    for _ in range(2):
        assert is_sentence(run("sparql", ALL), "crawl/store is damaged")
        assert is_sentence(run("export"), "crawl/store is damaged")
        with (
            pytest.raises(OSError, match="crawl/store is damaged"),
            open_sink("crawl/store", "crawl/outbox") as store,
        ):
            # A damaged block of a killed store is noticed when it is read, and RocksDB has begun to tidy up
            # by then.
            assert (name, damage) == ("killed", flipped)
            assert isinstance(store, Embedded)
            list(store.store.quads())
        assert (name, pattern) == ("killed", "*.sst") or state(Path("crawl")) == before


@pytest.mark.parametrize("name", ["frontier", "store"])
def test_every_table_and_every_place_in_it(copied: Copied, run: Run, name: str) -> None:
    """A byte that has changed is either noticed or changes nothing."""
    path = copied("embedded") / name

    def ask() -> list[Ended]:
        if name == "store":
            return [run("sparql", ALL), run("export")]
        return [run("frontier"), run("frontier", "--failed"), run("frontier", "--denied")]

    right = ask()
    noticed = 0
    for file in sorted(path.glob("*.sst")):
        whole = file.read_bytes()
        for place in range(0, len(whole), len(whole) // 5):
            flipped(file, place)
            for ended, whole_one in zip(ask(), right, strict=True):
                is_noticed = is_sentence(ended, f"crawl/{name} is damaged")
                assert is_noticed or ended == whole_one
                noticed += is_noticed
            file.write_bytes(whole)
    assert noticed
    assert ask() == right


# --- the logs of RocksDB after a kill ---


def logs(path: Path) -> list[Path]:
    return [file for file in sorted(path.glob("*.log")) if file.stat().st_size]


def test_a_log_that_a_kill_cut_short_is_read_as_far_as_it_goes(copied: Copied, run: Run) -> None:
    path = copied("killed") / "frontier"
    with logs(path)[-1].open("r+b") as file:
        file.truncate(file.seek(0, os.SEEK_END) - 3)
    assert run("frontier").code == 0
    with open_frontier("crawl/frontier", politeness=Politeness(delay=0.0)) as frontier:
        assert frontier.counts().seen > 0


@pytest.mark.parametrize("damage", [missing, flipped])
def test_a_log_that_is_damaged_is_not_passed_over(
    copied: Copied, run: Run, damage: Callable[[Path], None]
) -> None:
    path = copied("killed") / "frontier"
    for file in path.glob("*.log") if damage is missing else logs(path)[-1:]:
        damage(file)
    before = state(Path("crawl"))
    assert is_sentence(run("frontier"), "crawl/frontier is damaged")
    with pytest.raises(OSError, match="crawl/frontier is damaged"):
        open_frontier("crawl/frontier")
    assert state(Path("crawl")) == before


@pytest.mark.parametrize("damage", [missing, empty, cut, flipped, text])
def test_the_log_of_a_store_has_nothing_that_is_not_in_its_tables_or_its_journal(
    copied: Copied, run: Run, damage: Callable[[Path], None]
) -> None:
    path = copied("embedded") / "store"
    right = run("sparql", ALL)
    for file in logs(path):
        damage(file)
    assert run("sparql", ALL) == right


@pytest.mark.parametrize("name", ["IDENTITY", "LOCK", "OPENED", "OPTIONS-*", "SEAL"])
@pytest.mark.parametrize("damage", [missing, empty, text])
def test_files_that_do_not_matter(
    copied: Copied, run: Run, name: str, damage: Callable[[Path], None]
) -> None:
    copied("embedded")
    right = run("sparql", ALL), run("frontier")
    for part in ("frontier", "store"):
        for file in Path("crawl", part).glob(name):
            damage(file)
    before = state(Path("crawl"))
    assert (run("sparql", ALL), run("frontier")) == right
    assert state(Path("crawl")) == before


# --- things that are something else ---


@pytest.mark.parametrize("part", ["frontier", "store"])
def test_a_file_where_a_directory_should_be(copied: Copied, run: Run, part: str) -> None:
    path = copied("embedded") / part
    shutil.rmtree(path)
    text(path)
    command = ("frontier",) if part == "frontier" else ("sparql", ALL)
    assert is_sentence(run(*command), f"crawl/{part}")
    ended = crawl(Path(), "crawl", "http://127.0.0.1:8000/")
    assert is_sentence(ended, f"crawl/{part}"), ended.errors
    assert path.read_text() == "This is a letter to my aunt.\n"


@pytest.mark.parametrize("part", ["", "frontier", "store", "store/journal", "outbox"])
def test_what_may_not_be_read(copied: Copied, run: Run, part: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who may not read it")
    crawl_ = copied("files" if part == "outbox" else "killed")
    for path in (Path().resolve(), *Path().resolve().parents[:-2]):
        path.chmod(0o755)
    (crawl_ / part).chmod(0o700)
    commands: dict[str, list[tuple[str, ...]]] = {
        "frontier": [("frontier",)],
        "outbox": [("export", "--outbox")],
        "": [("frontier",), ("sparql", ALL)],
    }
    before = state(crawl_)
    for command in commands.get(part, [("sparql", ALL), ("export",)]):
        with nobody():
            ended = run(*command)
        assert is_sentence(ended, f"crawl/{part}".rstrip("/")), ended
    assert state(crawl_) == before


@contextmanager
def nobody() -> Iterator[None]:
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_crawl_that_runs_keeps_its_store_and_lets_its_frontier_be_read(
    copied: Copied, run: Run
) -> None:
    copied("embedded")
    code = """
import sys
from rdfaspider.frontier import open_frontier
from rdfaspider.stores import open_sink
frontier = open_frontier("crawl/frontier")
store = open_sink("crawl/store", "crawl/outbox")
print("ready", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        before = state(Path("crawl"))
        assert is_sentence(run("sparql", ALL), "crawl/store is in use")
        assert is_sentence(run("frontier", "--requeue", "."), "crawl/frontier is in use")
        assert run("frontier").code == 0
        with pytest.raises(OSError, match="in use by another crawl"):
            open_frontier("crawl/frontier")
        with pytest.raises(OSError, match="in use by another crawl"):
            open_sink("crawl/store", "crawl/outbox")
        assert state(Path("crawl")) == before
        process.kill()


# --- the outbox ---


@pytest.mark.parametrize("damage", [empty, cut, text, a_directory])
def test_a_damaged_outbox(copied: Copied, run: Run, damage: Callable[[Path], None]) -> None:
    path = copied("files") / "outbox" / "outbox.sqlite"
    damage(path)
    before = state(Path("crawl"))
    assert is_sentence(
        run("export", "--outbox", store=FILES), "crawl/outbox/outbox.sqlite is damaged"
    )
    assert is_sentence(
        run("export", "--send", store=FILES), "crawl/outbox/outbox.sqlite is damaged"
    )
    with pytest.raises(OSError, match="is damaged"):
        open_sink("nquads:crawl/pages", "crawl/outbox")
    assert state(Path("crawl")) == before


def test_an_outbox_of_which_only_the_log_is_left(copied: Copied, run: Run) -> None:
    path = copied("files") / "outbox"
    (path / "outbox.sqlite").rename(path / "outbox.sqlite-wal")
    before = state(Path("crawl"))
    assert is_sentence(
        run("export", "--outbox", store=FILES), "outbox.sqlite is damaged (it is missing"
    )
    with pytest.raises(OSError, match="it is missing"):
        open_sink("nquads:crawl/pages", "crawl/outbox")
    assert state(Path("crawl")) == before


def test_a_page_in_the_outbox_that_cannot_be_unpacked(copied: Copied, run: Run) -> None:
    path = copied("files") / "outbox" / "outbox.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE waiting SET body = X'789c00' WHERE graph = 'http://site.test/1'")
    database.close()
    assert is_sentence(
        run("export", "--outbox", "-o", "x.nq", store=FILES), "outbox.sqlite is damaged"
    )
    assert not Path("x.nq").exists()
    ended = crawl(Path(), "crawl", STORE_URL=FILES, STORE_DRAIN_SECONDS=1, CLOSESPIDER_TIMEOUT=1)
    assert ended.code == 1
    assert "crawl/outbox/outbox.sqlite is damaged" in ended.errors
    assert "Traceback" not in ended.errors
    with OutboxDatabase("crawl/outbox", read_only=True) as outbox:
        assert outbox.pages == 2, "what waited before it was sent, and the rest is kept"


def test_an_outbox_is_read_without_a_trace(copied: Copied, run: Run) -> None:
    copied("files")
    before = state(Path("crawl"))
    assert run("export", "--outbox", store=FILES).code == 0
    assert state(Path("crawl")) == before


# --- N-Quads files ---


@pytest.mark.parametrize("damage", [empty, flipped, text, a_directory])
def test_damaged_files_of_nquads(copied: Copied, run: Run, damage: Callable[[Path], None]) -> None:
    path = copied("files") / "pages" / "pages-00001.nq.gz"
    damage(path)
    before = state(Path("crawl"))
    assert is_sentence(run("export", "-o", "all.nq", store=FILES), "crawl/pages/pages-00001.nq.gz")
    with pytest.raises(OSError, match=r"pages-00001\.nq\.gz"):
        open_sink("nquads:crawl/pages", "crawl/outbox")
    assert state(Path("crawl")) == before
    assert not Path("all.nq").exists()


@pytest.mark.parametrize("size", [1, 20])
def test_a_member_that_was_being_written_is_passed_over(
    copied: Copied, run: Run, size: int
) -> None:
    path = copied("files") / "pages" / "pages-00001.nq.gz"
    right = run("export", store=FILES)
    with path.open("ab") as file:
        file.write(path.read_bytes()[:size])
    before = state(Path("crawl"))
    assert run("export", store=FILES) == right
    assert state(Path("crawl")) == before


@pytest.mark.parametrize("damage", [cut, empty, flipped])
def test_a_file_that_is_not_the_last(
    copied: Copied, run: Run, damage: Callable[[Path], None]
) -> None:
    path = copied("files") / "pages"
    shutil.copy(path / "pages-00001.nq.gz", path / "pages-00002.nq.gz")
    damage(path / "pages-00001.nq.gz")
    assert is_sentence(run("export", "-o", "all.nq", store=FILES), "pages-00001.nq.gz is damaged")


# --- the journal ---


def test_a_page_in_the_journal_that_the_disk_has_altered(
    copied: Copied, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    journal = copied("killed") / "store" / "journal"
    (path,) = journal.glob("0*.nq")
    graph = "http://site.test/a"
    alone = Journal(journal)
    alone.append([Change.of_page(graph, f'<{graph}> <{graph}> "good" <{graph}> .\n'.encode())])
    alone.close()
    last = max(journal.glob("0*.nq"))
    altered = last.read_bytes().replace(b"good", b"evil")
    last.write_bytes(altered)
    ended = run("sparql", ALL)
    assert ended.code == 0
    assert "were moved to crawl/store/journal/damaged.nq" in caplog.text
    assert (journal / "damaged.nq").read_bytes() == altered
    assert not path.exists(), "the others are in the store"


@pytest.mark.parametrize("damage", [a_directory, missing])
def test_a_journal_that_cannot_be_loaded(
    copied: Copied, run: Run, damage: Callable[[Path], None]
) -> None:
    store = copied("killed") / "store"
    if damage is missing:  # the database, that is
        for file in store.iterdir():
            if file.is_file():
                file.unlink()
    else:
        for file in (store / "journal").glob("0*.nq"):
            damage(file)
    before = state(Path("crawl"))
    assert is_sentence(run("sparql", ALL), "crawl/store")
    with pytest.raises(OSError, match="crawl/store"):
        open_sink("crawl/store", "crawl/outbox")
    if damage is missing:
        assert state(Path("crawl")) == before


# --- whole crawls ---


@pytest.mark.parametrize(
    ("part", "pattern"), [("frontier", "CURRENT"), ("store", "CURRENT"), ("frontier", "*.sst")]
)
def test_a_crawl_is_not_resumed_with_damaged_files(copied: Copied, part: str, pattern: str) -> None:
    path = copied("embedded") / part
    for file in path.glob(pattern):
        missing(file)
    before = state(path)
    for _ in range(2):
        ended = crawl(Path(), "crawl")
        assert is_sentence(ended, f"crawl/{part} is damaged"), ended.errors
        assert state(path) == before


def test_a_frontier_that_breaks_while_it_crawls_ends_the_crawl(copied: Copied) -> None:
    """The blocks of URLs that wait are read when their host is asked for more."""
    path = copied("embedded") / "frontier"
    for file in path.glob("*.sst"):
        flipped(file, 10)
    ended = crawl(Path(), "crawl")
    assert ended.code == 1
    assert "crawl/frontier is damaged" in ended.errors
    assert "Traceback" not in ended.errors


def test_what_an_earlier_version_left_of_a_damaged_frontier(copied: Copied, run: Run) -> None:
    """It made a new database beside the tables of the old one, which the next opening would delete."""
    path = copied("embedded") / "frontier"
    (path / "MANIFEST-000001").write_bytes((path / "MANIFEST-000005").read_bytes()[:100])
    (path / "CURRENT").write_text("MANIFEST-000001\n")
    before = state(path)
    assert is_sentence(run("frontier"), "crawl/frontier is damaged (CURRENT was replaced")
    with pytest.raises(OSError, match="CURRENT was replaced"):
        open_frontier("crawl/frontier")
    assert state(path) == before


BREAKER = """
from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.engine.local import LocalFrontier

close = LocalFrontier.close

def break_down(self):
    close(self)
    raise FrontierUnavailable("The frontier cannot be written: no space left.")

class Breaker:
    def __init__(self):
        LocalFrontier.close = break_down
"""


def test_an_error_at_the_end_is_not_a_success(copied: Copied) -> None:
    copied("embedded")
    Path("breaker.py").write_text(BREAKER)
    ended = crawl(Path(), "crawl", EXTENSIONS='{"breaker.Breaker": 0}', CLOSESPIDER_TIMEOUT=1)
    assert ended.code == 1
    assert "The end of the crawl is not safe: The frontier cannot be written" in ended.errors
    assert "Traceback" not in ended.errors


def test_reading_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")
    (tmp_path / "crawl" / "store").mkdir(parents=True)
    (tmp_path / "crawl" / "store" / "LOCK").touch()
    for command in (("sparql", ALL), ("export",), ("frontier",), ("export", "--outbox")):
        assert is_sentence(run(*command), "There is no")
    assert [path.name for path in tmp_path.rglob("*")] == ["crawl", "store", "LOCK"]
    with pytest.raises(OSError, match="There is no store"):
        open_store("crawl/store", read_only=True)
