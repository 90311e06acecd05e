"""One client who does not read keeps no other from the endpoint.

This is a module of its own since a browser, while it is open, runs the loop of its thread.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import web
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.console.guards import Guards
from rdfaspider.console.query.endpoint import Endpoint
from rdfaspider.console.server import Server
from rdfaspider.stores import open_store


async def _answers_another_beside_one_who_does_not_read(store: str) -> None:
    endpoint = Endpoint(store, None, None, 10.0)
    endpoint._turns = asyncio.Semaphore(1)
    guards = Guards("token")

    server = Server(guards, [web.get("/sparql", endpoint.answer)])
    port = await server.start(0)
    endless = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    try:
        head = f"GET /sparql?query={quote(endless)} HTTP/1.1\r\nHost: localhost\r\n"
        writer.write(f"{head}Authorization: Bearer token\r\n\r\n".encode())
        status = await reader.readline()  # the answer has begun; nobody reads the rest
        assert b" 200 " in status, await reader.read(1000)
        assert endpoint._turns.locked()
        async with asyncio.timeout(40):
            await endpoint._turns.acquire()
    finally:
        writer.close()
        await server.stop()


@pytest.mark.filterwarnings("ignore::aiohttp.web_exceptions.NotAppKeyWarning")
def test_a_client_that_does_not_read_gives_up_its_turn(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with open_store(store) as filled:
        page = NamedNode("http://a.test/")
        name = NamedNode("http://schema.org/name")
        filled.replace(
            page.value, [Quad(page, name, Literal("x" * 500 + str(n))) for n in range(99)]
        )
    asyncio.run(_answers_another_beside_one_who_does_not_read(store))
