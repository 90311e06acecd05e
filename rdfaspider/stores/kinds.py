"""The kinds of stores, and how the URL of a store is read.

A URL is `KIND+http://…` for a store on a server, `KIND:PLACE` for another, or the path of a directory for the
embedded one. To add a kind, write its module and name it in `KINDS`, with a function that opens it; everybody
else asks the functions here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from rdfaspider.plugins import load
from rdfaspider.secrets import without_secrets
from rdfaspider.stores import PageStore, StoreUnavailable

if TYPE_CHECKING:
    from rdfaspider.stores.server.access import Access


class Opening(NamedTuple):
    """What a store is opened with. `owner` marks what a crawl creates on a server."""

    place: str
    access: Access | None = None
    owner: str = ""
    read_only: bool = False


class Kind(NamedTuple):
    """A kind of store: what its URLs look like, how one is opened, and where it is.

    One that is neither on a `server` nor in a `directory` is known to its own package alone.
    """

    form: str
    opened: Callable[[Opening], PageStore]
    where: str = ""
    is_queried: bool = True


def _embedded(opening: Opening) -> PageStore:
    from rdfaspider.stores.embedded import Embedded
    from rdfaspider.stores.embedded.journal import Journal
    from rdfaspider.stores.embedded.opening import check_unlocked
    from rdfaspider.stores.embedded.oxigraph import OxigraphStore

    if Journal.waits_in(Path(opening.place) / "journal"):
        if opening.read_only:
            check_unlocked(Path(opening.place))
        Embedded(OxigraphStore(opening.place)).close()
    return OxigraphStore(opening.place, read_only=opening.read_only)


def _rdf4j(opening: Opening) -> PageStore:
    from rdfaspider.stores.server.http import Client
    from rdfaspider.stores.server.rdf4j import Rdf4jStore

    sail = parse_qs(urlsplit(opening.place).query).get("sail", ["native"])[0]
    return Rdf4jStore(Client(opening.place, opening.access), sail, opening.owner)


def _graph_store(opening: Opening) -> PageStore:
    from rdfaspider.stores.server.graphstore import GraphStore
    from rdfaspider.stores.server.http import Client

    return GraphStore(Client(opening.place, opening.access))


def _update(opening: Opening) -> PageStore:
    from rdfaspider.stores.server.graphstore import UpdateStore
    from rdfaspider.stores.server.http import Client

    return UpdateStore(Client(opening.place, opening.access))


def _nquads(opening: Opening) -> PageStore:
    from rdfaspider.stores.nquads import NQuadsStore

    return NQuadsStore(opening.place, read_only=opening.read_only)


def _python(opening: Opening) -> PageStore:
    try:
        opened = _class_of(opening.place)
    except ValueError as error:
        raise StoreUnavailable(str(error)) from error
    return opened(opening.place.partition(":")[2], read_only=opening.read_only)


KINDS = {
    "": Kind("the path of a directory", _embedded, "directory"),
    "rdf4j": Kind("rdf4j+http://…", _rdf4j, "server"),
    "gsp": Kind("gsp+http://…", _graph_store, "server"),
    "update": Kind("update+http://…", _update, "server"),
    "nquads": Kind("nquads:DIRECTORY", _nquads, "directory", is_queried=False),
    "python": Kind("python:package.module.Name:PLACE", _python),
}

*_FIRST, _LAST = (kind.form for kind in KINDS.values())
_FORMS = f"{', '.join(_FIRST)} or {_LAST}"
_NAMED = re.compile(
    "|".join(
        re.escape(name) + (r"\+" if kind.where == "server" else ":")
        for name, kind in KINDS.items()
        if name
    )
)
# What a store of another package must have.
_NEEDS = (
    *("write", "query", "quads", "count", "select"),
    *("sizes", "remove", "close", "create", "hint"),
)


def parts_of(url: str) -> tuple[str, str]:
    """Return the name of a store's kind, "" for an embedded one, and its place."""
    if named := _NAMED.match(url):
        return named[0][:-1], url[named.end() :]
    if "://" in url:
        shown = url.rpartition("@")[2]
        raise StoreUnavailable(f"The store URL {shown} is of no known kind: give {_FORMS}.")
    return "", url


def check(url: str) -> None:
    """Accept the URL of a store that is on no server; ValueError if it is of no known kind."""
    try:
        name, place = parts_of(url)
    except StoreUnavailable:
        name, place = "", ""
    if name == "python":
        _class_of(place)
    elif KINDS[name].where != "directory" or not place or "://" in place:
        raise ValueError(f"it must be {_FORMS}")


def is_embedded(url: str) -> bool:
    """Tell whether the store runs in this process, with a journal instead of an outbox."""
    return not parts_of(url)[0]


def held_in(url: str, outbox: Path) -> int | None:
    """Return how many quads of pages the store of a crawl has or will get, None if unknown."""
    from rdfaspider.stores.embedded.journal import Journal
    from rdfaspider.stores.outbox.database import OutboxDatabase

    try:
        if is_embedded(url):
            return Journal.held_in(Path(url) / "journal")
        with OutboxDatabase(str(outbox), read_only=True) as database:
            return database.held
    except (OSError, ValueError):
        return None


def is_queried(url: str) -> bool:
    """Tell whether the store answers queries without being loaded elsewhere first."""
    return KINDS[parts_of(url)[0]].is_queried


def directory_of(url: str) -> str:
    """Return the directory of a store, "" if it has none on this machine, or is of no known kind."""
    try:
        name, place = parts_of(url)
    except StoreUnavailable:
        return ""
    return place if KINDS[name].where == "directory" else ""


def server_of(url: str) -> str:
    """Return the URL of a store's server, "" if the store is on none."""
    name, _, place = url.partition("+")
    is_server = name in KINDS and KINDS[name].where == "server"
    return place if is_server and re.match("https?://.", place, re.DOTALL) else ""


def target_of(url: str) -> str:
    """Return the name of a store in its outbox: its URL without user, password and options."""
    name, place = parts_of(url)
    if KINDS[name].where == "server":
        place = place.rpartition("@")[2].partition("?")[0]
    return f"{name}:{place}"


def shown(url: str) -> str:
    """Return the URL of a store without user and password."""
    name, place = parts_of(url)
    match KINDS[name].where:
        case "directory":
            return place
        case "server":
            scheme, _, rest = place.partition("://")
            return f"{scheme}://{rest.rpartition('@')[2]}"
        case _:
            return without_secrets(url)


def _class_of(place: str) -> Callable[..., PageStore]:
    """Return the class of `package.module.Name:PLACE`; ValueError in a sentence if it is no store."""
    name = f"{PageStore.__module__}.PageStore"
    found: Callable[..., PageStore] = load(place.partition(":")[0], "a store", _NEEDS, name)
    return found
