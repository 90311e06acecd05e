"""The query of a link, percent-encoded in the encoding of its page, as the URL Standard has it.

Hosts and paths are always in UTF-8. Terms of RDF are not encoded at all: they are IRIs, which are compared
as characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

import turbohtml.detect  # noqa: F401  # registers the decoders of the Encoding Standard

_PARTS = re.compile(r"([^?#]*)(\?[^#]*)?(.*)", re.DOTALL)
_PLAIN = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#'<>")
_WRITTEN = [chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in range(0x100)]
# What is not written as in ASCII. ISO-2022-JP has no code for the control characters that it uses itself.
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_OTHERS_2022 = re.compile(r"[^\x00-\x0d\x10-\x1a\x1c-\x7f]+")
_JAPANESE = re.compile(rb"(?:\x1b\$B..\x1b\(B)+", re.DOTALL)
# Codes that are only decoded: their characters have others.
_DECODED = {
    "gb18030": re.compile(rb"\x80"),
    "big5": re.compile(rb"[\x80-\xa0].|\xa2[\xa4-\xa7\xcc\xce]", re.DOTALL),
    "shift_jis": re.compile(rb"[\xed\xee].", re.DOTALL),
}


def query_encoder(encoding: str) -> Callable[[str], str] | None:
    """Return what encodes the query of a link, or None where it is in UTF-8, as on pages in UTF-16."""
    name = encoding.lower()
    return None if name.startswith("utf-") else partial(_encoded, name)


def _encoded(encoding: str, link: str) -> str:
    parts = _PARTS.fullmatch(link)
    assert parts is not None
    others = _OTHERS_2022 if encoding == "iso-2022-jp" else _OTHERS
    query = others.sub(lambda found: _written(found[0], encoding), parts[2] or "")
    return f"{parts[1]}{query}{parts[3]}"


def _written(text: str, encoding: str) -> str:
    """Return characters as escapes; a character without a code as an escaped reference of HTML."""
    codes = _codes(encoding)
    code = b"".join(codes.get(character) or _other(character, encoding) for character in text)
    code = _JAPANESE.sub(lambda run: b"\x1b$B%b\x1b(B" % _without_shifts(run[0]), code)
    return "".join(_WRITTEN[byte] for byte in code)


def _without_shifts(run: bytes) -> bytes:
    return run.replace(b"\x1b$B", b"").replace(b"\x1b(B", b"")


def _other(character: str, encoding: str) -> bytes:
    if encoding == "gb18030" and character != "\ue5e5":  # the one character that it does not have
        return character.encode("gb18030")
    return b"%%26%%23%d%%3B" % (ord(character) if character > "\x7f" else 0xFFFD)


@cache
def _codes(encoding: str) -> dict[str, bytes]:
    """Return the code of each character, but for those of four bytes: the decoder turned round."""
    if encoding == "iso-2022-jp":
        pairs = (
            (character, code) for character, code in _codes("euc-jp").items() if code > b"\xa0"
        )
        codes = {
            character: b"\x1b$B%c%c\x1b(B" % (code[0] & 0x7F, code[1] & 0x7F)
            for character, code in pairs
        }
        return codes | {"¥": b"\x1b(J\\\x1b(B", "‾": b"\x1b(J~\x1b(B"}
    high = range(0x80, 0x100)
    units = [bytes((byte,)) for byte in high]
    units += [bytes((lead, trail)) for lead in high for trail in (*range(0x40, 0x7F), *high)]
    if is_decoded := _DECODED.get(encoding):
        units = [unit for unit in units if not is_decoded.match(unit)]
    characters = b"\n".join(units).decode(f"whatwg-{encoding}").split("\n")
    codes = {}
    for character, unit in zip(characters, units, strict=True):
        if len(character) == 1 and character != "\ufffd":
            codes.setdefault(character, unit)
    if encoding in ("euc-jp", "shift_jis"):
        codes |= {"¥": b"\\", "‾": b"~", "\u2212": codes["\uff0d"]}
    return codes
