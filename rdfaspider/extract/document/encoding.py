"""Which characters the bytes of a page stand for: header, byte order mark, meta, then detection."""

from __future__ import annotations

import codecs
import re

_HEADER = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.I)
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.I)
_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.\-]+)", re.I)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# The labels of the Encoding Standard that pages use, to Python's codec; others are not trusted, for
# Python also knows codecs (idna, unicode_escape, zlib) that no page may choose.
_LATIN = (
    "ascii us-ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 cp1252 windows-1252 x-cp1252"
)
_CODECS: dict[str, str] = {
    **dict.fromkeys(_LATIN.split(), "cp1252"),
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8", "x-unicode20utf8"), "utf-8"),
    **dict.fromkeys(("utf-16", "utf-16le", "ucs-2", "unicode"), "utf-16-le"),
    "utf-16be": "utf-16-be",
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"iso8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **dict.fromkeys(("iso-8859-9", "iso8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "windows-874"), "cp874"),
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
    **{f"cp125{n}": f"cp125{n}" for n in range(9)},
    **dict.fromkeys(("gb2312", "gb_2312-80", "gbk", "x-gbk", "gb18030", "chinese"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("euc-jp", "x-euc-jp"), "euc_jp"),
    "iso-2022-jp": "iso2022_jp",
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms932"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601", "korean", "windows-949"), "cp949"),
    **dict.fromkeys(("koi8-r", "koi8", "koi"), "koi8_r"),
    "koi8-u": "koi8_u",
    **dict.fromkeys(("ibm866", "cp866"), "cp866"),
    **dict.fromkeys(("macintosh", "x-mac-roman"), "mac_roman"),
    "x-mac-cyrillic": "mac_cyrillic",
}


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Return the page as valid UTF-8 and the name of the encoding it came in.

    Bytes that mean nothing in the encoding become U+FFFD.
    """
    encoding, body = _declared(body, content_type)
    if encoding in ("utf-8", ""):
        try:
            body.decode()
        except UnicodeDecodeError:
            encoding = encoding or "cp1252"
        else:
            return body, "utf-8"
    return body.decode(encoding, "replace").encode("utf-8", "replace"), _PUBLIC.get(
        encoding, encoding
    )


_PUBLIC = {"cp1252": "windows-1252"}


def _declared(body: bytes, content_type: str) -> tuple[str, bytes]:
    """Return the codec that the page declares, or "", and its bytes without a byte order mark."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return codec, body[len(mark) :]
    header = _HEADER.search(content_type)
    if header and (codec := _CODECS.get(header[1].lower(), "")):
        return codec, body
    start = body[:4096]
    match = _DECLARATION.match(start) or _META.search(start)
    codec = _CODECS.get(match[1].decode().lower(), "") if match else ""
    return ("utf-8" if codec.startswith("utf-16") else codec), body
