"""A capture: where a response is, as a line of CDXJ, the index that replay tools read.

org,example)/a 20261116003000 {"url": "http://example.org/a", "mime": "text/html", "status": "200", …}
"""

from __future__ import annotations

import json
import re
from calendar import timegm
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from time import gmtime, strftime, strptime
from typing import NamedTuple

from rdfaspider.archive.index.keys import key_of

_TYPE = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}", re.ASCII)
REVISIT = "warc/revisit"


class Capture(NamedTuple):
    """One answer of one URL. `date` has 14 digits; `mime` of a revisit is `warc/revisit`."""

    url: str
    date: str
    mime: str
    status: str
    digest: str
    length: int
    offset: int
    filename: str

    def line(self) -> bytes:
        """Return it as a line of an index, with its end."""
        # What json.dumps would write, in a quarter of its time; nothing but the URL can need escapes.
        mime = f'"mime": "{self.mime}", ' if self.mime else ""
        fields = (
            f'{{"url": {_quoted(self.url)}, {mime}"status": "{self.status}", "digest": "{self.digest}",'
            f' "length": "{self.length}", "offset": "{self.offset}", "filename": "{self.filename}"}}'
        )
        return f"{key_of(self.url)} {self.date} {fields}\n".encode("utf-8", "backslashreplace")

    def at(self, offset: int, filename: str) -> Capture:
        """Return it with the place where it is."""
        return Capture(*self[:6], offset, filename)

    @classmethod
    def of_line(cls, line: bytes) -> Capture:
        """Read a line; ValueError if it is none."""
        try:
            _, date, text = line.decode().split(" ", 2)
            fields = json.loads(text)
            url, filename = fields["url"], fields["filename"]
            if not (date.isdecimal() and isinstance(url, str) and isinstance(filename, str)):
                raise ValueError(text)
            return cls(
                url,
                date,
                fields.get("mime", ""),
                fields.get("status", ""),
                fields.get("digest", ""),
                int(fields["length"]),
                int(fields["offset"]),
                filename,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"This is no line of an index: {line[:80]!r}.") from error


@lru_cache(256)
def media_type(header: bytes) -> str:
    """Return the media type of a Content-Type, "" if it has none."""
    found = _TYPE.match(header.decode("latin-1").strip())
    return found[0] if found else ""


@lru_cache(64)
def digits(date: str) -> str:
    """Return a date of WARC as an index writes it."""
    return re.sub(r"\D", "", date)[:14]


def seconds_at(digits: str) -> int:
    """Return the time of 4 to 14 digits, in which the last parts may be missing; ValueError if it is none."""
    whole = digits + "00000101000000"[len(digits) :]
    try:
        return timegm(strptime(whole, "%Y%m%d%H%M%S"))
    except ValueError as error:
        raise ValueError(f"{digits[:40]} is no date.") from error


@lru_cache(64)
def stamp_of(seconds: int) -> str:
    """Return a time as an index writes it."""
    return strftime("%Y%m%d%H%M%S", gmtime(seconds))
