"""Runs a node: one that a worker has started and that ends with it, or one that people start.

A worker writes the task to the node's standard input, and then nothing until it ends or is killed. If the
node cannot run, it writes the reason to its standard output, in one line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.children import await_end_of_parent, read_task
from rdfaspider.focus.visits.planner import RevisitRules
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.heap import tune
from rdfaspider.service.address import Security
from rdfaspider.service.replica.node import Node
from rdfaspider.service.server.partitions import Division
from rdfaspider.service.server.process import stop_signal

if TYPE_CHECKING:
    from rdfaspider.service.address import Address

# Options that are dataclasses.
_STRUCTURED = {
    "security": Security,
    "politeness": Politeness,
    "limits": FrontierLimits,
    "division": Division,
}


def task_of(
    url: str, path: str, name: str, security: Security, options: dict[str, Any], worker: str = ""
) -> str:
    """Return the task of a node, as a line of JSON."""
    given = {"order": "breadth", **options, "security": security}
    structured: dict[str, Any] = {
        key: given.pop(key, None) or kind() for key, kind in _STRUCTURED.items()
    }
    structured["politeness"] = replace(structured["politeness"], own=None)
    structured["revisits"] = given.pop("revisits", None)
    node = {"url": url, "path": path, "name": name, "worker": worker}
    return json.dumps({**node, "options": given, **structured}, default=asdict)


def main() -> None:
    given = json.loads(read_task())
    logging.basicConfig(format="%(asctime)s [frontier] %(levelname)s: %(message)s", level="INFO")
    try:
        structured = {key: kind(**given.pop(key)) for key, kind in _STRUCTURED.items()}
        revisits = given.pop("revisits")
        options = {
            **given.pop("options"),
            **structured,
            "revisits": None if revisits is None else RevisitRules(**revisits),
        }
        node = Node(given.pop("url"), Path(given.pop("path")), **given, **options)
        asyncio.run(_run_with_parent(node))
    except (OSError, ValueError) as error:
        print(json.dumps(str(error)), flush=True)
        sys.exit(1)


async def _run_with_parent(node: Node) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        await_end_of_parent()
        loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=watch, daemon=True).start()
    await node.run(stopped)


def serve(
    url: str, path: str, listen: Address | None, security: Security, options: dict[str, Any]
) -> None:
    """Run a node until SIGINT or SIGTERM; FrontierUnavailable if that fails."""
    node = Node(
        url, Path(path), f"node-{os.urandom(4).hex()}", listen=listen, security=security, **options
    )

    async def run() -> None:
        tune()
        await node.run(stop_signal())

    asyncio.run(run())
