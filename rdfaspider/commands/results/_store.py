"""The store of a crawl, for commands that read it: also while the crawl runs, if that has a console.

One process alone may open an embedded store while it is written. But the crawl's console makes copies of it
to answer queries (console/query/snapshots.py), and any process may read these.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from rdfaspider.console.extension import NAME
from rdfaspider.console.query import snapshots
from rdfaspider.extract.contexts import PREFIXES
from rdfaspider.pipelines.store import store_access
from rdfaspider.settings.places import jobdir_of, store_url
from rdfaspider.stores import StoreInUse, open_store
from rdfaspider.stores.queries import read_query, with_prefixes
from rdfaspider.stores.server.access import Access
from rdfaspider.stores.server.http import Client
from rdfaspider.terminal import complain

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfaspider.stores import PageStore


def query_in(argument: str) -> str:
    """Return the query that a user gave as text, a file or -, with well-known prefixes declared."""
    return with_prefixes(read_query(argument), PREFIXES)


def open_to_read(settings: BaseSettings, command: str) -> PageStore:
    """Open the store that settings name or, while a crawl writes it, a copy that its console makes."""
    url = store_url(settings)
    try:
        return open_store(url, read_only=True, access=store_access(settings))
    except StoreInUse as error:
        try:
            copy = _copy_of_running(jobdir_of(settings), url)
        except (OSError, ValueError):
            raise StoreInUse(
                f"{error} A crawl that is started with -s CONSOLE_PORT=8010 can be queried and exported"
                " while it runs."
            ) from error
    complain(command, "the crawl runs; this is what it has stored by now.")
    return open_store(str(copy), read_only=True)


def _copy_of_running(jobdir: Path, url: str) -> Path:
    """Let the console of a crawl copy its store; OSError or ValueError if there is none, or another store."""
    address = urlsplit((jobdir / NAME).read_text(encoding="ascii").strip())
    token = parse_qs(address.query)["token"][0]
    with closing(Client(f"http://{address.netloc}", Access(token=token))) as client:
        about = json.loads(client.request("GET", "/api/store")[0])
        if Path(about["store"]).resolve() != Path(url).resolve():
            raise FileNotFoundError(url)
        client.request("POST", "/sparql", b"ASK {}", content_type="application/sparql-query")
    copies = (jobdir / snapshots.NAME).iterdir()
    return max(copies, key=lambda path: int(path.name))
