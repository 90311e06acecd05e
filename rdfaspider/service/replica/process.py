"""A node as a process: one that a worker has started and that ends with it, or one that people start.

The standard input of the former tells what to do, and then nothing until the worker ends, or is killed. If
the node cannot be, it says why in a line of its standard output.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.partitions import Division
from rdfaspider.service.replica.node import Node
from rdfaspider.service.wire import Security

if TYPE_CHECKING:
    from rdfaspider.service.wire import Address

_STDIN = 0
# Options that are records of their own.
_STRUCTURED = ("politeness", "limits", "division")

# The folder that holds the package, or the egg, which Python imports from like a folder.
ROOT = str(Path(__file__).parents[3])
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from rdfaspider.service.replica.process import main; main()"
)


def task_of(
    url: str,
    path: str,
    name: str,
    security: Security,
    options: dict[str, Any],
    worker: str = "",
) -> str:
    """Return what a node is to do, as a line."""
    plain = {key: value for key, value in options.items() if key not in _STRUCTURED}
    manners = {**asdict(options["politeness"]), "own": None}
    return json.dumps(
        {
            "url": url,
            "path": path,
            "name": name,
            "worker": worker,
            "security": asdict(security),
            "options": plain,
            "politeness": manners,
            "limits": asdict(options["limits"]),
            "division": asdict(options.get("division") or Division()),
        }
    )


def main() -> None:
    task = b""
    while not task.endswith(b"\n"):
        task += (part := os.read(_STDIN, 1 << 16))
        if not part:
            sys.exit(1)
    logging.basicConfig(format="%(asctime)s [frontier] %(levelname)s: %(message)s", level="INFO")
    given = json.loads(task)
    try:
        options = {
            **given["options"],
            "politeness": Politeness(**given["politeness"]),
            "limits": FrontierLimits(**given["limits"]),
            "division": Division(**given["division"]),
        }
        security = Security(**given["security"])
        path = Path(given["path"])
        names = {"name": given["name"], "worker": given["worker"]}
        node = Node(given["url"], path, security=security, **names, **options)
        asyncio.run(_run_with_parent(node))
    except (OSError, ValueError) as error:
        print(json.dumps(str(error)), flush=True)
        sys.exit(1)


async def _run_with_parent(node: Node) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        while os.read(_STDIN, 1 << 16):
            pass
        loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=watch, daemon=True).start()
    await node.run(stopped)


def serve(
    url: str, path: str, listen: Address | None, security: Security, options: dict[str, Any]
) -> None:
    """Be a node until SIGINT or SIGTERM; FrontierUnavailable if it cannot be, or cannot any more."""
    node = Node(
        url, Path(path), f"node-{os.urandom(4).hex()}", listen=listen, security=security, **options
    )
    asyncio.run(_serve(node))


async def _serve(node: Node) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await node.run(stopped)
