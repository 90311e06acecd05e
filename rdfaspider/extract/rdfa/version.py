"""Which version of RDFa a document declares.

The root's @version decides, then the document type of XHTML+RDFa 1.0; all else is RDFa 1.1. In HTML the
document type counts only if the page is well-formed XML. pyRdfa3 decides in the same way, and it spares
the many pages that took the document type from a template, but no declaration of their prefixes.
"""

from __future__ import annotations

import re

from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.document.xml import parsed_xml

_DECLARED = re.compile(r"RDFa ?(1\.[01])")
_DOCTYPE = re.compile(
    rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE\s+html\s+PUBLIC\s+"
    rb"""["']-//W3C//DTD XHTML\+RDFa 1\.0//EN["']\s+"""
    rb"""["']http://www\.w3\.org/MarkUp/DTD/xhtml-rdfa-1\.dtd["']""",
    re.S | re.I,
)
_START = 4096  # bytes in which a document type is looked for


def declared_version(document: Document, body: bytes) -> str:
    """Return 1.0 or 1.1 for a document that was parsed from a body in UTF-8."""
    attribute = _DECLARED.search(document.elements[0][2].get("version", ""))
    if attribute:
        return attribute[1]
    if document.host not in ("html5", "xhtml1") or not _DOCTYPE.match(body[:_START]):
        return "1.1"
    return "1.0" if document.host == "xhtml1" or _is_xml(body) else "1.1"


def _is_xml(body: bytes) -> bool:
    try:
        parsed_xml(body)
    except ValueError:
        return False
    return True
