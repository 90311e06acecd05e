from __future__ import annotations

import pytest

from rdfaspider.extract import extract
from rdfaspider.extract.document.encoding import to_utf8

META = '<meta charset="{}">é'
OLD = '<meta http-equiv="Content-Type" content="text/html; charset={}">é'


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        ("é".encode(), "text/html", "utf-8"),
        ("é".encode("latin-1"), "text/html", "windows-1252"),
        ("é€".encode("cp1252"), "text/html; charset=iso-8859-1", "windows-1252"),
        ("é".encode("koi8-u", "replace"), "text/html; charset=utf8", "utf-8"),
        ("ж".encode("koi8-r"), 'text/html; charset="KOI8-R"', "koi8_r"),
        ("\ufeffé".encode(), "text/html; charset=koi8-r", "utf-8"),
        ("é".encode("utf-16"), "text/html", "utf-16-le"),
        ("\ufeffé".encode("utf-16-be"), "text/html", "utf-16-be"),
        (META.format("iso-8859-15").encode("latin-1"), "text/html", "iso8859-15"),
        (OLD.format("windows-1251").encode("cp1251", "replace"), "text/html", "cp1251"),
        (META.format("utf-16").encode(), "text/html", "utf-8"),
        (b'<?xml version="1.0" encoding="iso-8859-2"?><a>\xb1</a>', "application/xml", "iso8859-2"),
        ("é".encode(), "text/html; charset=unicode_escape", "utf-8"),
        (b"x", "text/html; charset=idna", "utf-8"),
        ("日本".encode("shift_jis"), "text/html; charset=shift_jis", "cp932"),
    ],
)
def test_encoding_is_found(body: bytes, content_type: str, encoding: str) -> None:
    text, found = to_utf8(body, content_type)
    assert found == encoding
    assert text.decode()


def test_text_survives() -> None:
    assert to_utf8("é€".encode("cp1252"), "text/html; charset=latin1")[0].decode() == "é€"
    assert to_utf8("\ufeffé".encode("utf-16-be"), "")[0].decode() == "é"


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
