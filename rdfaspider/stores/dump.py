"""RDF files: their formats and compression. A file is written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from pyoxigraph import RdfFormat, serialize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyoxigraph import Quad


class Format(NamedTuple):
    """A way to write RDF; one that has no graphs loses which page says what."""

    name: str
    suffix: str
    rdf: RdfFormat
    has_graphs: bool


FORMATS = (
    Format("nquads", ".nq", RdfFormat.N_QUADS, True),
    Format("trig", ".trig", RdfFormat.TRIG, True),
    Format("jsonld", ".jsonld", RdfFormat.JSON_LD, True),
    Format("ntriples", ".nt", RdfFormat.N_TRIPLES, False),
    Format("turtle", ".ttl", RdfFormat.TURTLE, False),
)

# Prefixes for Turtle and TriG: the vocabularies that pages use most.
PREFIXES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "og": "http://ogp.me/ns#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sioc": "http://rdfs.org/sioc/ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xhv": "http://www.w3.org/1999/xhtml/vocab#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def format_of(path: str, name: str | None) -> Format:
    """Return the format of a name or, without a name, of a path; raise ValueError if there is none."""
    if name is not None:
        wanted = name.lower().removeprefix(".")
        found = [each for each in FORMATS if wanted in (each.name, each.suffix[1:])]
    else:
        inner = Path(path).with_suffix("") if Path(path).suffix in _COMPRESSED else Path(path)
        if path == "-" or not inner.suffix:
            return FORMATS[0]
        found = [each for each in FORMATS if inner.suffix == each.suffix]
    if not found:
        names = ", ".join(f"{each.name} ({each.suffix})" for each in FORMATS)
        what = f"{name}" if name is not None else f"of files like {Path(path).name}"
        raise ValueError(
            f"There is no format {what}: take one of {names}; a file is compressed if its name ends in"
            f" {', '.join(_COMPRESSED)}."
        )
    return found[0]


def write(quads: Iterable[Quad], output: BinaryIO, kind: Format) -> None:
    """Write quads as they come or, in a format without graphs, their triples."""
    prefixes = PREFIXES if kind.rdf in (RdfFormat.TURTLE, RdfFormat.TRIG) else None
    statements = quads if kind.has_graphs else (quad.triple for quad in quads)
    serialize(statements, output, kind.rdf, prefixes=prefixes)


@contextmanager
def create(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing, compressed by its suffix, which is there as a whole after the block.

    It is written under another name and renamed at the end. If the block fails or the process dies, the
    old file is still there. A pipe or a device is written to directly.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    compressed = _COMPRESSED.get(Path(path).suffix, nullcontext)
    if target.exists() and not target.is_file():
        with target.open("wb") as file, compressed(file) as output:
            yield output
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            with compressed(file) as output:
                yield output
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _zstandard(file: BinaryIO) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # before Python 3.14
        from backports import zstd
    return zstd.ZstdFile(file, "wb")


_COMPRESSED: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile("", "wb", 6, file),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".zst": _zstandard,
}
