"""Pages in files: their types by name, and gzip."""

from __future__ import annotations

import gzip
import io
import mimetypes
import zlib
from pathlib import PurePath

# Where Python knows none, or one that says less.
_RDF_XML = "application/rdf+xml"
_JSON_LD = "application/ld+json"
_TYPES = {
    ".xhtml": "application/xhtml+xml",
    ".xht": "application/xhtml+xml",
    ".xml": "application/xml",
    ".rdf": _RDF_XML,
    ".owl": _RDF_XML,
    ".json": _JSON_LD,
    ".jsonld": _JSON_LD,
    ".ttl": "text/turtle",
}
_GZIP = b"\x1f\x8b"


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
