"""What an archive costs a crawl: its share of a page's CPU time, and bytes on disk. Run by name with -s.

    pytest tests/benchmarks/test_archive.py -s

One crawl measures both: the archive's parts by the clock of the thread they run in, the rest as what the
process takes besides. Pages come without compression, the worst case for the archive: it packs them itself.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parents[2]
SMALL = Parameters(seed=1, levels=5, pages=4, links_inside=36, sentences=25, triples=10)
LARGE = Parameters(seed=1, levels=3, pages=6, links_inside=100, sentences=900, triples=20)


def crawl(directory: Path, seed: str) -> dict[str, float]:
    settings = {
        "ARCHIVE": 1,
        "EXTRACT_PROCESSES": 0,
        "POLITENESS_OFF_FOR_OWN_SERVERS": 1,
        "ITEM_PIPELINES": json.dumps(
            {
                "rdfaspider.pipelines.archive.ArchivePipeline": None,
                "tests.benchmarks.archivemeter.MeteredPipeline": 850,
            }
        ),
        "EXTENSIONS": json.dumps({"tests.benchmarks.archivemeter.Meter": 950}),
        "METER_FILE": "meter.json",
    }
    options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
    subprocess.run(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={seed}", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
        capture_output=True,
    )
    found: dict[str, float] = json.loads((directory / "meter.json").read_text())
    return found


def size_by_gzip(archive: Path) -> tuple[int, int]:
    """Return the bytes of the responses in an archive, and of their bodies packed by gzip -6."""
    kept = packed = 0
    for path in archive.glob("*.warc.gz"):
        with path.open("rb") as file:
            records = ArchiveIterator(file)
            for record in records:
                if record.rec_type == "response":
                    packed += len(gzip.compress(record.raw_stream.read(), 6))
                    kept += records.get_record_length()
    return kept, packed


@pytest.mark.parametrize(
    ("parameters", "most"), [(SMALL, 0.08), (LARGE, 0.15)], ids=["5 KB", "large"]
)
def test_an_archive_takes_a_small_share(
    tmp_path: Path, parameters: Parameters, most: float
) -> None:
    with running(parameters) as url:
        found = crawl(tmp_path, url)
    archive = found["thread"] + found["loop"]
    rest = found["process"] - archive
    pages = found["pages"]
    kept, packed = size_by_gzip(tmp_path / "crawl" / "archive")
    print(
        f"\n{pages:,.0f} pages of {found['received'] / pages / 1000:.1f} KB:"
        f" {rest / pages * 1e6:,.0f} µs a page, archive {found['thread'] / pages * 1e6:.0f} in its thread"
        f" + {found['loop'] / pages * 1e6:.0f} in the loop, {archive / rest:.1%};"
        f" {found['bytes'] / pages:,.0f} bytes a page, responses {kept / pages:,.0f},"
        f" gzip -6 of the bodies {packed / pages:,.0f}"
    )
    assert archive / rest <= most
