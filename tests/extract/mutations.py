"""Mutations of documents: what a broken program, a bad transfer or an attacker makes of them."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.extract.samples import Document

LARGEST = 300_000  # bytes of a mutated document

LIES = [
    "",
    "text/html",
    "application/xhtml+xml",
    "application/xml",
    "image/svg+xml",
    "text/turtle",
    "application/n-quads",
    "application/ld+json",
    "application/rdf+xml",
    "application/trig",
    "text/html; charset=utf-16",
    "text/html; charset=gb18030",
    "text/html; charset=iso-2022-jp",
    "text/html; charset=euc-jp",
    "text/html; charset=big5",
    "text/html; charset=x-cp1251",
    "text/html; charset=x-user-defined",
    "text/html; charset=",
    "application/xhtml+xml; charset=koi8-r",
    ";;;",
]
MARKS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\x00\x00\xfe\xff"]
CODECS = ["utf-16", "utf-16-be", "utf-8-sig", "cp1252", "gb18030", "shift_jis", "koi8-r", "utf-7"]
TOKENS = (
    b"<|>|\"|'|&|<!--|-->|<![CDATA[|]]>|</|/>|=|\0|\r"
    b"|<div>|</div>|<p>|<b>|</b>|<table>|<select>|<svg>|<template>|<a>"
    b"|<script>|</script>|<style>|<plaintext>|<frameset>|<base href=x>|<meta>"
    b"| property=| about=| prefix=| vocab=| itemref=| itemscope| xmlns:a=| inlist"
    b"|[|]|{|}|,|:|(|)|.|;|^^|@|<<|_:|\\u|\\"
    b'|"@context":|"@id":|"@graph":[|"@type":"@json"|1e999|-0|\\ud800|null'
    b"|&#xD800;|&#0;|&#x110000;|&nbsp;|\xed\xa0\x80|\xf4\x90\x80\x80|\xff|\xc3"
    b"|<a href='?\xe4\xb8\xad\xc2\xa5\xe3\x83\xbc%"
    b"|http://[|//|%|%zz| |\xe2\x80\xa8|#|?|javascript:|data:,|mailto:"
).split(b"|")
TAGS = (
    b"<x>|<x>|<x id=%d>|<x a%d>|</x>|</x>|<x/>|<!--</x>-->"
    b"|<br a='</x>'>|<x property=dc:%d>|<x itemscope itemprop=%d>|<x about=%d rel=dc:y>|<x prefix='p%d: x:'>"
).split(b"|")
NAMES = (
    b"a b i font p div span ul li dd h1 table td tr select option form button svg math template object"
    b" foreignObject title script style textarea html body frameset rt ruby base meta link x%d"
).split()
WRAPPERS = [
    (b"<div>", b"</div>"),
    (b"<b id=x><p>", b""),
    (b'<b property="dc:x">', b"</b>"),
    (b"<table><td>", b""),
    (b"<svg>", b"</svg>"),
    (b"<template>", b"</template>"),
    (b"<!--", b"-->"),
    (b'{"@graph":[', b"]}"),
    (b"[", b"]"),
    (b"<p itemscope itemprop=x>", b""),
]


def flipped(body: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice((1, 3, 20))):
        body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)


def inserted(body: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice((1, 2, 5))):
        place = dice.randrange(len(body))
        body[place:place] = dice.choice(TOKENS) * dice.choice((1, 1, 1, 50))


def deleted(body: bytearray, dice: random.Random) -> None:
    start, end = piece(body, dice)
    del body[start:end]


def repeated(body: bytearray, dice: random.Random) -> None:
    start, end = piece(body, dice)
    body[start:start] = body[start:end] * dice.choice((1, 2, 10, 300, 3000))


def counted(body: bytearray, dice: random.Random) -> None:
    """Repeat a piece with a different number in each."""
    start, end = piece(body, dice)
    place = dice.randint(start, end)
    first, last = bytes(body[start:place]), bytes(body[place:end])
    count = dice.choice((10, 300, 3000))
    body[start:start] = b"".join(b"%b%d%b" % (first, number, last) for number in range(count))


def moved(body: bytearray, dice: random.Random) -> None:
    start, end = piece(body, dice)
    part = body[start:end]
    del body[start:end]
    place = dice.randrange(len(body) + 1)
    body[place:place] = part


def cut(body: bytearray, dice: random.Random) -> None:
    if dice.random() < 0.5:
        del body[dice.randrange(len(body)) :]
    else:
        del body[: dice.randrange(len(body))]


def wrapped(body: bytearray, dice: random.Random) -> None:
    start, end = dice.choice(WRAPPERS)
    depth = dice.choice((1, 10, 300, 3000, 20_000))
    place = dice.choice((0, dice.randrange(len(body))))
    body[place:place] = start * depth
    body += end * depth


def marked(body: bytearray, dice: random.Random) -> None:
    body[:0] = dice.choice(MARKS)


def encoded(body: bytearray, dice: random.Random) -> None:
    body[:] = body.decode("utf-8", "replace").encode(dice.choice(CODECS), "replace")


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    *(flipped, inserted, deleted, repeated, counted, moved, cut, wrapped, marked, encoded),
]


def piece(body: bytearray, dice: random.Random) -> tuple[int, int]:
    start = dice.randrange(len(body))
    return start, start + dice.choice((1, 8, 60, 400))


def mutated(documents: list[Document], dice: random.Random) -> Document:
    body, content_type = dice.choice(documents)
    changed = bytearray(body)
    if dice.random() < 0.2:
        other = dice.choice(documents).body
        changed[dice.randrange(len(changed) + 1) :] = other[dice.randrange(len(other)) :]
    for _ in range(dice.choice((1, 1, 2, 4))):
        if not changed:
            break
        dice.choice(MUTATIONS)(changed, dice)
        del changed[LARGEST:]
    if dice.random() < 0.15:
        content_type = dice.choice(LIES)
    return Document(bytes(changed), content_type)


def soup(dice: random.Random) -> Document:
    """Make a document of a few pieces of mark-up, each repeated until it is large."""
    body = bytearray()
    names = dice.sample(NAMES, 3)
    for _ in range(dice.randint(1, 3)):
        tags = [dice.choice(TAGS).replace(b"x", dice.choice(names)) for _ in range(5)]
        unit = b"".join(dice.choice(dice.choice((tags, TOKENS))) for _ in range(dice.randint(1, 6)))
        size = dice.choice((100, 10_000, 100_000))
        body += b"".join(
            unit.replace(b"%d", b"%d" % number) for number in range(size // len(unit) + 1)
        )
    return Document(bytes(body[:LARGEST]), "text/html")
