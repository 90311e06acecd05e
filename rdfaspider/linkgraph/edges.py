"""The links of one page as bytes: what the frontier keeps of a page while it crawls.

Layout. Kind of the numbers (1 byte), length of their varints (a varint), the varints, number of media of each
kind (varints, in the order of MEDIA in items.py), then lines:

    varints  the numbers of the pages linked to, sorted, each once: first the distance of the smallest from
             the page's own number, zigzag coded, then the distances between neighbours, less one
    0…3KEY   a link of this kind whose target had no number then: its number is looked up later
    oHOST N  N links to a host that lead out of the crawl

A varint has seven bits a byte, the lowest first; the last byte has no high bit (LEB128).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.items import MEDIA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Kinds of links. Where a page links to another in several ways, the greatest counts.
NOFOLLOW, FOLLOW, CANONICAL, REDIRECT = range(4)
KINDS = ("nofollow", "follow", "canonical", "redirect")

# What a page without media, keys and links out of the crawl has.
NO_REST = b"\0" * len(MEDIA)

_OUTSIDE = ord("o")
_ZERO = ord("0")


class Links(NamedTuple):
    """The links of a page: pages by number (all of one kind), pages by kind and key, how many lead out of
    the crawl by host, and the media by kind."""

    kind: int
    numbers: list[int]
    keys: list[tuple[int, bytes]]
    outside: dict[str, int]
    media: dict[str, int]


def pack(page: int, kind: int, numbers: Iterable[int], rest: bytes) -> bytes:
    """Return the links of a page; `rest` is what `pack_rest` returns."""
    gaps = pack_numbers(page, numbers)
    return bytes((kind,)) + varint(len(gaps)) + gaps + rest


def pack_numbers(page: int, numbers: Iterable[int]) -> bytes:
    """Return the varints of the numbers of pages that a page links to."""
    ordered = sorted(set(numbers))
    if not ordered:
        return b""
    previous = ordered[0]
    packed = bytearray(varint(_zigzag(previous - page)))
    add = packed.append
    for number in ordered[1:]:
        gap = number - previous - 1
        previous = number
        while gap > 127:
            add(gap & 127 | 128)
            gap >>= 7
        add(gap)
    return bytes(packed)


def pack_rest(
    media: Mapping[str, int],
    outside: Mapping[str, int],
    keys: Iterable[tuple[int, Iterable[bytes]]],
) -> bytes:
    """Return the other parts: media, links out of the crawl by host, and keys by kind."""
    lines = [b"%d%b\n" % (kind, key) for kind, some in keys for key in some]
    lines += [b"o%b %d\n" % (host.encode(), count) for host, count in outside.items()]
    return b"".join([varint(media.get(kind, 0)) for kind in MEDIA] + lines)


def with_keys(rest: bytes, kind: int, keys: Iterable[bytes]) -> bytes:
    """Return the other parts with more keys."""
    return rest + b"".join([b"%d%b\n" % (kind, key) for key in keys])


def unpack(page: int, value: bytes) -> Links:
    """Return the links of a page; ValueError if they are damaged."""
    kind = value[0]
    length, start = read_varint(value, 1)
    end = start + length
    numbers = list(_numbers(page, value[start:end]))
    media, end = read_media(value, end)
    keys, outside = lines_of(value[end:])
    return Links(kind, numbers, keys, outside, media)


def read_media(data: bytes, place: int) -> tuple[dict[str, int], int]:
    """Return the media at a place by kind, and the place after them."""
    media = {}
    for kind in MEDIA:
        count, place = read_varint(data, place)
        if count:
            media[kind] = count
    return media, place


def split(value: bytes) -> tuple[int, bytes, bytes]:
    """Return the kind, the varints and the other parts."""
    length, start = read_varint(value, 1)
    return value[0], value[start : start + length], value[start + length :]


def lines_of(text: bytes) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
    """Return the keys with their kinds, and the links out of the crawl by host."""
    keys: list[tuple[int, bytes]] = []
    outside: dict[str, int] = {}
    for line in text.splitlines():
        if line[0] == _OUTSIDE:
            host, _, count = line[1:].rpartition(b" ")
            outside[host.decode()] = int(count)
        else:
            keys.append((line[0] - _ZERO, line[1:]))
    return keys, outside


def varint(number: int) -> bytes:
    packed = bytearray()
    while number > 127:
        packed.append(number & 127 | 128)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it; ValueError if the data ends in it."""
    number = shift = 0
    for end, byte in enumerate(data[place : place + 10], start=place + 1):
        number |= (byte & 127) << shift
        if byte < 128:
            return number, end
        shift += 7
    raise ValueError("The links of a page end in the middle of a number.")


def _numbers(page: int, gaps: bytes) -> Iterable[int]:
    place, number = 0, None
    while place < len(gaps):
        gap, place = read_varint(gaps, place)
        number = page + _unzigzag(gap) if number is None else number + gap + 1
        yield number


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else -number * 2 - 1


def _unzigzag(number: int) -> int:
    return -(number + 1 >> 1) if number & 1 else number >> 1
