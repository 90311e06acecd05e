"""How the benchmark finds and drives an installed Nutch: tests/benchmarks/speed/nutch.py."""

from __future__ import annotations

from pathlib import Path
from subprocess import CalledProcessError

import pytest

from tests.benchmarks.speed import programs
from tests.benchmarks.speed.nutch import Nutch, version_of

# A Nutch that has two rounds of work, and fails at the step FAILING.
PROGRAM = """#!/bin/sh
echo "$1" >>"$NUTCH_CONF_DIR/steps"
test "$1" != "$FAILING" || exit 255
case $1 in
generate)
  rounds=$(grep -c generate "$NUTCH_CONF_DIR/steps")
  test "$rounds" -le 2 || exit 1
  mkdir -p "$3/2026010100000$rounds" ;;
fetch)
  basename "$2" >>"$NUTCH_CONF_DIR/fetched" ;;
readdb)
  mkdir "$4"
  printf 'http://a/\\tVersion: 7\\nStatus: 2 (db_fetched)\\nScore: 1.0\\n\\n' >"$4/part-r-00000"
  printf 'http://a/gone\\tVersion: 7\\nStatus: 3 (db_gone)\\n\\n' >>"$4/part-r-00000" ;;
esac
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "conf").mkdir()
    program = home / "bin" / "nutch"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return home


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place


def test_crawls_in_rounds_until_nothing_is_left(home: Path, place: Path) -> None:
    nutch = Nutch(home, place)
    nutch.crawl(place / "seeds.txt")
    steps = (place / "conf" / "steps").read_text().split()
    assert steps == ["inject", *["generate", "fetch", "updatedb"] * 2, "generate"]
    assert (place / "conf" / "fetched").read_text().split() == ["20260101000001", "20260101000002"]
    assert nutch.fetched() == ["http://a/"]


@pytest.mark.parametrize("step", ["inject", "generate", "fetch", "updatedb"])
def test_a_step_that_fails_ends_the_crawl(
    home: Path, place: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILING", step)
    with pytest.raises(CalledProcessError, match=f"{step}.* 255"):
        Nutch(home, place).crawl(place / "seeds.txt")


def test_is_left_out_where_it_is_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nutch = programs.PEERS["nutch"]
    monkeypatch.delenv("NUTCH_HOME", raising=False)
    with pytest.raises(programs.Unavailable, match="NUTCH_HOME does not say"):
        nutch.build()
    monkeypatch.setenv("NUTCH_HOME", str(home / "bin"))
    with pytest.raises(programs.Unavailable, match="no bin/nutch"):
        nutch.build()
    monkeypatch.setenv("NUTCH_HOME", str(home))
    nutch.build()


def test_tells_its_version(home: Path) -> None:
    assert version_of(home) == ""
    (home / "lib").mkdir()
    (home / "lib" / "apache-nutch-1.23-SNAPSHOT.jar").touch()
    assert version_of(home) == "1.23-SNAPSHOT"
