"""Pages in files: their types by name, their links, and gzip."""

from __future__ import annotations

import gzip
import io
import mimetypes
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from rdfaspider.urls import Joiner

_HTML: Final = "text/html"
_RDF_XML: Final = "application/rdf+xml"
_JSON_LD: Final = "application/ld+json"
_TYPES: Final = {
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": "application/xhtml+xml",
    ".xht": "application/xhtml+xml",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".rdf": _RDF_XML,
    ".owl": _RDF_XML,
    ".json": _JSON_LD,
    ".jsonld": _JSON_LD,
    ".ttl": "text/turtle",
    ".n3": "text/n3",
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".trig": "application/trig",
}
_GZIP: Final = b"\x1f\x8b"

# Stands for this machine while links are joined; no host can have this name (RFC 6761).
_STAND_IN: Final = "http://file.invalid/"
_FILES: Final = "file:///"


def type_of(name: str) -> str:
    """Return the media type for the name of a file, also before .gz; "" if unknown."""
    path = PurePath(name)
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or ""


def unpacked(body: bytes, size: int = -1) -> bytes:
    """Return the content of gzip data, at most `size` bytes of it; return other data as it is.

    Raise ValueError if the gzip data is damaged.
    """
    if not body.startswith(_GZIP):
        return body
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
            return file.read(size)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"damaged gzip data: {error}") from error


class FileJoiner(Joiner):
    """Joins the links of a page in a file: relative ones lead to files."""

    __slots__ = ()

    def __init__(self, base: str, encode_query: Callable[[str], str] | None = None) -> None:
        """Raise ValueError unless the base is the URL of a file here or of the Web."""
        is_file = base.startswith(_FILES)
        super().__init__(_STAND_IN + base[len(_FILES) :] if is_file else base, encode_query)

    def join(self, href: str) -> str:
        """Return the normalised URL; raise ValueError if there is none."""
        url = super().join(href)
        return _FILES + url[len(_STAND_IN) :] if url.startswith(_STAND_IN) else url
