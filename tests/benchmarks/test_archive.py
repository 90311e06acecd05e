"""What an archive costs a crawl: its share of a page's CPU time, and bytes on disk. Run by name with -s.

    pytest tests/benchmarks/test_archive.py -s

One crawl measures both: the archive's parts by the clock of the thread they run in, the rest as what the
process takes besides. Pages come without compression, the worst case for the archive: it packs them itself.
The small ones are generated. The large ones are real: the text of generated ones repeats itself, and packs to
a thirtieth.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from rdfaspider.archive.warc.reader import parse
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parents[2]
SMALL = Parameters(seed=1, levels=5, pages=4, links_inside=36, sentences=25, triples=10)
# Bytes from which on a page is a large one, and how many are crawled.
LARGE, COUNT = 50_000, 300


@contextmanager
def serving(bodies: list[bytes]) -> Iterator[str]:
    """Serve real pages at as many URLs as are wanted, each with another end, so that none is a copy."""
    links = b"".join(b"<a href=/%d.html>x</a>" % number for number in range(COUNT))

    class Server(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.strip("/").removesuffix(".html")
            body = links
            if name.isdecimal():
                body = bodies[int(name) % len(bodies)] + b"<!-- %b -->" % name.encode()
            self.send_response(404 if name == "robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def crawl(directory: Path, seed: str, depth: int) -> dict[str, float]:
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
        "FRONTIER_DEPTH": depth,
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


def sizes(archive: Path) -> tuple[int, int, int]:
    """Return the bytes of an archive, of its records packed by gzip -6, and of its bodies packed so."""
    kept = records = bodies = 0
    for path in archive.glob("*.warc.gz"):
        rest = path.read_bytes()
        while rest:
            member = zlib.decompressobj(31)
            record = member.decompress(rest)
            kept += len(rest) - len(member.unused_data)
            rest = member.unused_data
            records += len(gzip.compress(record, 6))
            if b"WARC-Type: response" in record:
                bodies += len(gzip.compress(parse(record).payload, 6))
    return kept, records, bodies


def measure(directory: Path, seed: str, most: float, depth: int = 100) -> None:
    """Crawl, say what the archive costs, and hold it to its share of the CPU time and its size."""
    found = crawl(directory, seed, depth)
    archive = found["thread"] + found["loop"]
    rest = found["process"] - archive
    pages = found["pages"]
    kept, records, bodies = sizes(directory / "crawl" / "archive")
    print(
        f"\n{pages:,.0f} pages of {found['received'] / pages / 1000:.1f} KB:"
        f" {rest / pages * 1e6:,.0f} µs a page, archive {found['thread'] / pages * 1e6:.0f} in its thread"
        f" + {found['loop'] / pages * 1e6:.0f} in the loop, {archive / rest:.1%};"
        f" {kept / pages:,.0f} bytes a page, gzip -6 of the same records {records / pages:,.0f}"
        f" ({kept / records - 1:+.1%}), of the bodies alone {bodies / pages:,.0f}"
    )
    assert archive / rest <= most
    assert kept <= 1.1 * records


def test_small_pages(tmp_path: Path) -> None:
    with running(SMALL) as url:
        measure(tmp_path, url, 0.08)


def test_large_pages(tmp_path: Path, vectors: Path) -> None:
    every = [path.read_bytes() for path in sorted((vectors / "pages").glob("*.html"))]
    with serving([body for body in every if len(body) >= LARGE]) as url:
        measure(tmp_path, url, 0.15, depth=1)
