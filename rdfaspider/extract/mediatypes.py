"""Media types of RDF documents; kinds of other media."""

from __future__ import annotations

from pyoxigraph import RdfFormat

JSON_LD = "application/ld+json"

MEDIA_TYPES: dict[str, RdfFormat] = {
    "text/turtle": RdfFormat.TURTLE,
    "application/turtle": RdfFormat.TURTLE,
    "application/x-turtle": RdfFormat.TURTLE,
    "text/n3": RdfFormat.TURTLE,  # what is published as N3 is nearly always Turtle
    "text/rdf+n3": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "text/ntriples": RdfFormat.N_TRIPLES,
    "application/n-quads": RdfFormat.N_QUADS,
    "text/nquads": RdfFormat.N_QUADS,
    "text/x-nquads": RdfFormat.N_QUADS,
    "application/trig": RdfFormat.TRIG,
    "application/x-trig": RdfFormat.TRIG,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "text/rdf+xml": RdfFormat.RDF_XML,
    JSON_LD: RdfFormat.JSON_LD,
    "application/activity+json": RdfFormat.JSON_LD,
}
"""What a response may be called, without parameters and in lower case, and how to read it."""

_EXTENSIONS = {
    "image": "apng avif bmp gif heic ico jfif jpe jpeg jpg jxl png svg tif tiff webp",
    "audio": "aac aif aiff amr flac m4a mid midi mp2 mp3 oga ogg opus wav weba wma",
    "video": "3gp avi flv m4v mkv mov mp4 mpeg mpg ogv webm wmv",
    "other": "swf",
}
_KINDS = {name: kind for kind, names in _EXTENSIONS.items() for name in names.split()}


def media_kind(reference: str, media_type: str = "") -> str:
    """Return the kind of a picture, sound or film by its media type or its extension, "" if it is none."""
    kind = media_type.partition("/")[0].strip().lower()
    if kind in _EXTENSIONS:
        return kind
    path = reference.partition("#")[0].partition("?")[0]
    return _KINDS.get(path.rpartition(".")[2].lower(), "")
