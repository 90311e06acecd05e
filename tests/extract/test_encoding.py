from __future__ import annotations

import pytest

from rdfaspider.extract import extract
from rdfaspider.extract.document.encoding import to_utf8

META = '<meta charset="{}">é'
OLD = '<meta http-equiv="Content-Type" content="text/html; charset={}">é'


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        ("é".encode(), "text/html", "UTF-8"),
        ("é".encode("latin-1"), "text/html", "windows-1252"),
        ("é€".encode("cp1252"), "text/html; charset=iso-8859-1", "windows-1252"),
        ("é".encode("koi8-u", "replace"), "text/html; charset=utf8", "UTF-8"),
        ("ж".encode("koi8-r"), 'text/html; charset="KOI8-R"', "KOI8-R"),
        ("\ufeffé".encode(), "text/html; charset=koi8-r", "UTF-8"),
        ("é".encode("utf-16"), "text/html", "UTF-16LE"),
        ("\ufeffé".encode("UTF-16BE"), "text/html", "UTF-16BE"),
        (META.format("iso-8859-15").encode("latin-1"), "text/html", "ISO-8859-15"),
        (OLD.format("windows-1251").encode("cp1251", "replace"), "text/html", "windows-1251"),
        (META.format("utf-16").encode(), "text/html", "UTF-8"),
        (
            b'<?xml version="1.0" encoding="iso-8859-2"?><a>\xb1</a>',
            "application/xml",
            "ISO-8859-2",
        ),
        ("é".encode(), "text/html; charset=unicode_escape", "UTF-8"),
        (b"x", "text/html; charset=idna", "UTF-8"),
        ("日本".encode("shift_jis"), "text/html; charset=shift_jis", "Shift_JIS"),
        (b"x", "text/html; charset=csbig5", "Big5"),
        (b"x", "text/html; charset=latin2", "ISO-8859-2"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=x-cp1251>", "text/html", "windows-1251"),
        (b"<meta name=description content='charset=koi8-r'>", "text/html", "UTF-8"),
        (b"<meta charset=unheard-of><meta charset=866>", "text/html", "IBM866"),
        (b"<title>" + b" " * 2000 + b"</title><meta charset=koi8-r>", "text/html", "KOI8-R"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", "text/html", "KOI8-R"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=866>", "text/html", "IBM866"),
        (b"<?xml version='1.0'?><meta charset='866'/>", "application/xhtml+xml", "UTF-8"),
        (b"<?xml version='1.0' encoding='utf-16'?><x/>", "application/xml", "UTF-8"),
        ("<?xml version='1.0'?><x/>".encode("utf-16-le"), "application/xml", "UTF-16LE"),
        ("<?xml version='1.0'?><x/>".encode("utf-16-be"), "text/html", "UTF-16BE"),
    ],
)
def test_encoding_is_found(body: bytes, content_type: str, encoding: str) -> None:
    text, found = to_utf8(body, content_type)
    assert found == encoding
    assert text.decode()


def test_text_survives() -> None:
    assert to_utf8("é€".encode("cp1252"), "text/html; charset=latin1")[0].decode() == "é€"
    assert to_utf8("\ufeffé".encode("UTF-16BE"), "")[0].decode() == "é"
    assert to_utf8(b"\x87\x40", "text/html; charset=ms_kanji")[0].decode() == "①"
    assert to_utf8(b"\xad\xa1", "text/html; charset=euc-jp")[0].decode() == "①"
    assert to_utf8(b"\x81", "text/html; charset=windows-1252")[0].decode() == "\x81"
    assert to_utf8(b"\xae", "text/html; charset=koi8-u")[0].decode() == "ў"


def test_wrong_charset_gives_replacement_characters() -> None:
    assert to_utf8(b"caf\xe9", "text/html; charset=utf-8")[0].decode() == "caf\ufffd"


@pytest.mark.parametrize(
    ("head", "content_type"),
    [
        ('<meta charset="iso-8859-1">', "text/html"),
        ("", "text/html; charset=iso-8859-1"),
        ('<?xml version="1.0" encoding="iso-8859-1"?>', "application/xml"),
    ],
)
def test_declarations_are_not_read_twice(head: str, content_type: str) -> None:
    page = f'{head}<p property="http://p/">caf\u00e9</p>'.encode("latin-1")
    (quad,) = extract(page, "http://site.example/", content_type).quads
    assert quad.object.value == "caf\u00e9"  # type: ignore[union-attr]
