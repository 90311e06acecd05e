"""What values must look like beyond their type; each function raises ValueError with the reason."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rdfaspider.frontier import is_replicated, is_shared, services_of
from rdfaspider.service.address import Address
from rdfaspider.stores.kinds import check, server_of
from rdfaspider.urls import Filters, Traps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def line(text: str) -> None:
    """Accept one line, which can be sent in a header."""
    if not text.isprintable():
        raise ValueError("it must be one line of printable characters")


def header(text: object) -> None:
    """Accept the value of a header."""
    if not (isinstance(text, str) and text.isascii() and text.isprintable()):
        raise ValueError("it must be one line of printable ASCII")


def token(text: str) -> None:
    """Accept a token that nobody guesses, and that needs no escapes in a URL."""
    if len(text) < 16 or not re.fullmatch(r"[\w.~-]+", text, re.ASCII):
        raise ValueError("it must have at least 16 characters, of letters, digits and -._~")


def headers(values: Mapping[Any, Any]) -> None:
    """Accept a dictionary of headers."""
    try:
        for text in (*values, *values.values()):
            header(text)
    except ValueError:
        raise ValueError('it must be a dictionary of texts, {"X-Key": "…"}') from None


def statuses(codes: Sequence[Any]) -> None:
    """Accept HTTP statuses."""
    if not all(str(code).isdecimal() and 100 <= int(code) <= 999 for code in codes):
        raise ValueError("it must be a list of HTTP statuses, such as 429,503")


def file(name: str) -> None:
    """Accept the name of a file that can be read."""
    try:
        Path(name).open("rb").close()
    except OSError as error:
        raise ValueError(f"the file cannot be read ({error.strerror})") from None


def frontier_url(url: str) -> None:
    """Accept the URL of a frontier that can be opened."""
    if is_replicated(url):
        _redis()
        _address(url)
    elif is_shared(url):
        for service in services_of(url):
            Address.parse(service)
    elif not url or "://" in url:
        raise ValueError(
            "it must be the path of a directory, unix:PATH, frontier://HOST:PORT or redis://HOST:PORT/0"
        )


def seeds_url(url: str) -> None:
    """Accept the URL of seeds in Redis."""
    if url:
        if not is_replicated(url):
            raise ValueError("it must be redis://HOST:PORT/0, with ?key=NAME for another key")
        _redis()
        _address(url)


def store_url(url: str) -> None:
    """Accept the URL of a store of a known kind."""
    if is_shared(url):  # the crawl that started this worker serves it
        Address.parse(url)
    elif server := server_of(url):
        _address(server)
    else:
        check(url)


def _redis() -> None:
    if find_spec("redis") is None:
        raise ValueError("redis is not installed: pip install 'rdfaspider[redis]'")


def _address(url: str) -> None:
    try:
        parts = urlsplit(url)
        known = bool(parts.hostname) or parts.scheme == "redis+unix"
        for each in parts.netloc.rpartition("@")[2].split(","):  # of Sentinels there may be several
            _ = urlsplit(f"//{each}").port
    except ValueError:  # its message might show a password
        known = False
    if not known:
        raise ValueError(
            "it must have a host and perhaps a port; write / ? # @ in a password as %2F %3F %23 %40"
        )


def transforms(pairs: Sequence[Any]) -> None:
    """Accept names of transforms, and pairs of a regular expression and its replacement."""
    for pair in pairs:
        if not (isinstance(pair, str) or (isinstance(pair, list | tuple) and len(pair) == 2)):
            raise ValueError('it must be a list of names and pairs, as ["WWW", ["/amp/$", "/"]]')
    Filters(transforms=pairs)


def traps(limits: Mapping[str, Any]) -> None:
    """Accept limits of the trap rules."""
    known = [name for name in Traps.__slots__ if name != "year"]
    for name, limit in limits.items():
        if name not in known:
            raise ValueError(f"{name!r} is not a rule: choose {', '.join(known)}")
        if type(limit) is not int or limit < 0:
            raise ValueError(f"the limit {name!r} must be a whole number, at least 0")
