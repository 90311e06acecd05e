"""The store of a crawl, for commands that read it: also while the crawl runs, if that has a console.

One process alone may open an embedded store while it is written. But the crawl's console makes copies of it
to answer queries (console/query/snapshots.py), and any process may read these.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from rdfaspider.stores import Refused, StoreInUse, StoreUnavailable, open_store

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfaspider.stores import PageStore


def open_to_read(settings: BaseSettings, command: str) -> PageStore:
    """Open the store that settings name or, while a crawl writes it, a copy as new as its console's."""
    from rdfaspider.pipelines.store import store_access
    from rdfaspider.settings.places import jobdir_of, store_url

    url = store_url(settings)
    try:
        return open_store(url, read_only=True, access=store_access(settings))
    except StoreInUse as error:
        copy = _copy_of_running(jobdir_of(settings), url)
        if copy is None:
            raise StoreInUse(
                f"{error} A crawl that is started with -s CONSOLE_PORT=8010 can be queried and exported"
                " while it runs."
            ) from error
    print(f"scrapy {command}: the crawl runs; this is what it has stored by now.", file=sys.stderr)
    return open_store(str(copy), read_only=True)


def _copy_of_running(jobdir: Path, url: str) -> Path | None:
    """Let the console of a running crawl make a copy of its store; None if it has no such console."""
    import json

    from rdfaspider.console.extension import NAME
    from rdfaspider.console.query import snapshots
    from rdfaspider.stores.server.access import Access
    from rdfaspider.stores.server.http import Client

    try:
        address = urlsplit((jobdir / NAME).read_text(encoding="ascii").strip())
    except OSError:
        return None
    (token,) = parse_qs(address.query)["token"]
    client = Client(f"http://{address.netloc}", Access(token=token))
    try:
        about = json.loads(client.request("GET", "/api/store")[0])
        if not about["is_copy"] or Path(about["store"]).resolve() != Path(url).resolve():
            return None
        query = urlencode({"query": "ASK {}"}).encode()
        form = "application/x-www-form-urlencoded"
        client.request("POST", "/sparql", query, content_type=form)
    except (Refused, StoreUnavailable):
        return None
    finally:
        client.close()
    copies = (jobdir / snapshots.NAME).iterdir()
    return max(copies, key=lambda path: int(path.name), default=None)
