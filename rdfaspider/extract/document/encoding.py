"""Which characters the bytes of a page stand for, by the Encoding Standard.

A byte order mark decides, then the header, then what the page declares: in HTML a meta element, else the
XML declaration. A page that declares nothing is UTF-8 if it can be, else windows-1252.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8

import turbohtml.detect  # noqa: F401  # has Python know the decoders of the Standard, by names with "whatwg-"

from rdfaspider.extract.document.html import parsed
from rdfaspider.extract.document.limits import without_roots

_HEADER = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.I)
_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.\-]+)", re.I)
_WIDE = {b"<\0?\0x\0": "UTF-16LE", b"\0<\0?\0x": "UTF-16BE"}
_MARK = 3  # bytes of a byte order mark
_EARLY = 1024  # bytes in which browsers look for a meta element before they parse a page
_LATE = 1 << 16  # bytes in which we do when they found none


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Return the page as valid UTF-8 and the name of the encoding it came in.

    Bytes that mean nothing in the encoding become U+FFFD.
    """
    encoding = _declared(body, content_type)
    if encoding in ("UTF-8", ""):
        try:
            body.decode()
        except UnicodeDecodeError:
            encoding = encoding or "windows-1252"
        else:
            return body.removeprefix(BOM_UTF8), "UTF-8"
    text = body.decode(f"whatwg-{encoding}").removeprefix("\ufeff")
    return text.encode("utf-8", "replace"), encoding


def _declared(body: bytes, content_type: str) -> str:
    """Return the encoding that a page is declared to have, or ""."""
    header = _HEADER.search(content_type)
    is_xml = content_type.partition(";")[0].strip().lower().endswith("xml")
    found = _named(body[:_MARK], header[1]) if header else ""
    found = found or _named(body[: _MARK if is_xml else _EARLY]) or _WIDE.get(body[:6], "")
    if found:
        return found
    if match := _DECLARATION.match(body[:_EARLY]):
        found = _named(b"", match[1].decode())
        found = "UTF-8" if found.startswith("UTF-16") else found
    if not found and not is_xml and b"charset" in (late := body[:_LATE]).lower():
        found = _named(without_roots(late)[0])
    return found


def _named(body: bytes, label: str | None = None) -> str:
    """Return the encoding that a byte order mark, a label or a meta element names, or ""."""
    try:
        page = parsed(body, label)
    except LookupError:  # no such label
        return ""
    return page.encoding or "" if page.encoding_confidence == "certain" else ""
