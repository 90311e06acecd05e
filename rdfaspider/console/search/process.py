"""The process that looks at one thing or page in a store, and can be killed.

It reads its task, a JSON object, and writes a JSON object: what was found, or an `error`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rdfaspider.console.query.process import begin_task


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Return what a store says of the thing or page of a task."""
    from rdfaspider.search.looking import look_at_page, look_at_thing
    from rdfaspider.stores import open_store
    from rdfaspider.stores.server.access import Access

    access = Access(**task["access"]) if task["access"] else None
    try:
        with open_store(task["store"], read_only=True, access=access) as store:
            if task["page"]:
                return look_at_page(store, task["page"])
            return look_at_thing(store, task["iri"])
    except (ValueError, SyntaxError, OSError, RuntimeError) as error:
        return {"error": str(error)}


def main() -> None:
    task = begin_task()
    sys.stdout.write(json.dumps(answer(task)))
    sys.stdout.flush()
    # Not by the usual way: the thread reads standard input for ever.
    os._exit(0)
