"""Tools of web archives that are not ours, and what they say of an archive (tests/replay.sh)."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.reader import files_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of parts of its own
    from fastwarc.warc import ArchiveIterator as FastWarc
    from fastwarc.warc import WarcRecordType

CACHE = Path(__file__).parents[2] / ".cache"


def tool(name: str) -> str:
    """Return the path of a program, or skip where it is not installed."""
    path = CACHE / "replay" / "bin" / name
    if not path.exists() or not (CACHE / "replay" / "ready").exists():
        pytest.skip(f"no {name} in .cache/replay: make .cache/replay.ready")
    return str(path)


def said(*command: str, cwd: Path | None = None) -> str:
    """Return what a program prints; it must be content."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def validate_by_jwarc(archive: Path) -> None:
    jars = [*CACHE.glob("jwarc-*.jar")]
    if not jars or shutil.which("java") is None:
        pytest.skip("no jwarc in .cache, or no Java: make .cache/replay.ready")
    said("java", "-jar", str(jars[0]), "validate", *map(str, files_of(archive)))


def compare_with_cdxj_indexer(archive: Path) -> None:
    """Hold the index to the one that cdxj-indexer makes of the same files."""
    files = map(str, files_of(archive))
    printed = said(tool("cdxj-indexer"), "--records", "response,revisit", "--sort", *files)
    ours = [capture.line().decode() for capture in captures_in(archive)]
    assert sorted(printed.splitlines(keepends=True)) == sorted(ours)


def validate_by_fastwarc(archive: Path) -> None:
    """Have FastWARC read every record to its end, and verify the digests that there are."""
    for path in files_of(archive):
        with path.open("rb") as file:
            for record in FastWarc(file, parse_http=True):
                if record.record_type == WarcRecordType.response:
                    assert record.verify_payload_digest()
                record.reader.consume()


def validate(archive: Path) -> None:
    """Ask all that validate WARC files: FastWARC, warcio, jwarc, and cdxj-indexer for the index."""
    validate_by_fastwarc(archive)
    said(tool("warcio"), "check", *map(str, files_of(archive)))
    validate_by_jwarc(archive)
    compare_with_cdxj_indexer(archive)
