"""A request and its answer, as they went over the line."""

from __future__ import annotations

from typing import Literal, NamedTuple

Headers = tuple[tuple[bytes, bytes], ...]
# As WARC names them: more bytes than we read, the server hung up, or we did not want the rest.
Truncation = Literal["", "length", "disconnect", "unspecified"]


class Exchange(NamedTuple):
    """What was asked and answered.

    `body` is packed as its server packed it, without the framing of chunks. `address` is empty where a proxy
    was asked. `began` is in seconds since the epoch.
    """

    url: str
    method: str
    asked: Headers
    sent: bytes
    version: str
    status: int
    reason: bytes
    headers: Headers
    body: bytes
    address: str
    began: float
    seconds: float
    truncated: Truncation = ""

    @property
    def is_not_modified(self) -> bool:
        """Tell whether the server said that the page is what it was."""
        return self.status == 304

    def header(self, name: bytes) -> list[bytes]:
        """Return the values of a header of the answer, which is named in lower case."""
        return [value for each, value in self.headers if each.lower() == name]
