"""Links of pages in files."""

from __future__ import annotations

from collections.abc import Callable

from rdfaspider.urls import Joiner

# Stands for this machine while links are joined; no host can have this name (RFC 6761).
_STAND_IN = "http://file.invalid/"
_FILES = "file:///"


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
