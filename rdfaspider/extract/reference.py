"""RDFa as a reference processor reads it, to be compared with ours: pyRdfa3, of the extra `reference`.

It takes twenty to fifty times as long. Like ours it opens no connection here: what it reads are bytes.
"""

from __future__ import annotations

import io
import logging
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import Triple

PYRDFA3 = "pyrdfa3"
_NEEDS = {"pyRdfa": "pyRdfa3", "rdflib": "rdflib", "html5lib": "html5lib"}


def check(name: str) -> None:
    """Raise ValueError if a reference processor is not installed."""
    if name != "off" and (missing := [each for each in _NEEDS if find_spec(each) is None]):
        names = " and ".join(_NEEDS[each] for each in missing)
        are = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{names} {are} not installed: pip install 'rdfaspider[reference]'")


def triples(body: bytes, url: str, content_type: str, version: str = "") -> Iterator[Triple]:
    """Yield the triples that pyRdfa3 finds; ValueError in a sentence if it cannot read the page.

    `version` is that of RDFa, "" for what the page declares.
    """
    check(PYRDFA3)
    media_type = content_type.partition(";")[0].strip().lower()
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)  # IRIs that it does not like
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rdflib
        from pyRdfa import pyRdfa

        rdflib.NORMALIZE_LITERALS = False  # lexical forms stay as they are on the page
        try:
            processor = pyRdfa(base=url, media_type=media_type, rdfa_version=version or None)
            found = processor.graph_from_source(io.BytesIO(body), rdfOutput=False)
            lines = found.serialize(format="nt", encoding="utf-8")
        except Exception as error:  # it has no type of its own for pages that it cannot read
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise ValueError(f"pyRdfa3 cannot read {url} ({said}).") from error
    return (quad.triple for quad in parse(lines, RdfFormat.N_TRIPLES, lenient=True))
