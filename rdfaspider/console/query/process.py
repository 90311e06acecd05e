"""The process that answers one query, and can be killed.

It reads its task, a JSON object, and writes a line of JSON, the head of the answer, followed by its body.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from typing import TYPE_CHECKING, Any, cast

from rdfaspider.children import await_end_of_parent, read_task

if TYPE_CHECKING:
    from typing import BinaryIO

# The memory of a query: more than a large sort takes, less than what would hurt the crawl.
_MEMORY = 4 << 30
_NICE = 10
_PART = 1 << 16  # bytes of an answer that are held until it is clear that it goes well

# Media types with the names of pyoxigraph's formats, the preferred first.
ROWS = {
    "application/sparql-results+json": "JSON",
    "application/json": "JSON",
    "application/sparql-results+xml": "XML",
    "application/xml": "XML",
    "text/xml": "XML",
    "text/csv": "CSV",
    "text/tab-separated-values": "TSV",
}
TRIPLES = {
    "text/turtle": "TURTLE",
    "application/n-triples": "N_TRIPLES",
    "text/plain": "N_TRIPLES",
    "application/rdf+xml": "RDF_XML",
    "application/xml": "RDF_XML",
}


def chosen(accept: str, offered: dict[str, str]) -> str:
    """Return the offered media type that an Accept header likes best, "" if it likes none."""
    best, liked = "", 0.0
    for part in accept.split(",") if accept.strip() else ["*/*"]:
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        group = kind.removesuffix("*") if kind.endswith("/*") and kind != "*/*" else ""
        found = next(
            (
                each
                for each in offered
                if kind in ("*/*", each) or (group and each.startswith(group))
            ),
            "",
        )
        if found and weight > liked:
            best, liked = found, weight
    return best


class Body:
    """Where an answer is written. Its head comes with its first part, so that a query that fails soon, while
    it is evaluated, gets a sentence instead."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._held: bytes | None = b""
        self.kind = ""

    def write(self, data: bytes) -> int:
        if self._held is None:
            return self._output.write(data)
        self._held += data
        if len(self._held) >= _PART:
            self._begin()
        return len(data)

    def flush(self) -> None:
        """Do nothing: `end` does it."""

    def end(self) -> None:
        if self._held is not None:
            self._begin()
        self._output.flush()

    def _begin(self) -> None:
        assert self._held is not None
        self._output.write(_head(status=200, type=self.kind) + self._held)
        self._held = None

    def refuse(self, status: int, error: str) -> bool:
        """Answer by a sentence; return False if a part of another answer is out."""
        if self._held is None:
            return False
        self._held = None
        self._output.write(_head(status=status, error=error))
        self._output.flush()
        return True


def _head(**words: Any) -> bytes:
    return json.dumps(words).encode() + b"\n"


def answer(task: dict[str, Any], output: BinaryIO) -> bool:
    """Answer a query, by a head and a body; return whether that is whole."""
    from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, RdfFormat, serialize

    from rdfaspider.extract.contexts import PREFIXES
    from rdfaspider.stores import StoreUnavailable, open_store
    from rdfaspider.stores.kinds import is_embedded
    from rdfaspider.stores.queries import calls_service, over, with_columns, with_prefixes
    from rdfaspider.stores.server.access import Access

    body = Body(output)
    head, out = body.refuse, cast("BinaryIO", body)
    if is_embedded(task["store"]) and calls_service(task["query"]):
        # The resolver's rules do not hold in the store, so a link could make it ask any address.
        return head(
            400, error="SERVICE is not answered here: `scrapy sparql` may ask other servers."
        )
    access = Access(**task["access"]) if task["access"] else None
    query = over(with_prefixes(task["query"], PREFIXES), task["default"], task["named"])
    try:
        with open_store(task["store"], read_only=True, access=access) as store:
            results = store.query(query)
            if isinstance(results, QuerySolutions):
                named = with_columns(query, [variable.value for variable in results.variables])
                results = store.query(named) if named != query else results
            is_table = isinstance(results, QueryBoolean | QuerySolutions)
            offered = ROWS if is_table else TRIPLES
            kind = chosen(task["accept"], offered)
            if not kind:
                return head(406, error=f"The answer can be had as {', '.join(offered)}.")
            body.kind = kind
            if isinstance(results, QueryBoolean | QuerySolutions):
                results.serialize(out, getattr(QueryResultsFormat, ROWS[kind]))
            else:
                serialize(results, out, getattr(RdfFormat, TRIPLES[kind]))
            body.end()
    except BrokenPipeError:
        return False
    except (SyntaxError, ValueError) as error:
        return head(400, error=str(error))
    except (StoreUnavailable, OSError, RuntimeError) as error:
        return head(503, error=str(error))
    return True


def begin_task() -> dict[str, Any]:
    """Return the task of this process, which then takes little of what the crawl needs, and ends with it."""
    task: dict[str, Any] = json.loads(read_task())
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))

    def end_with_parent() -> None:
        await_end_of_parent()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    return task


def main() -> None:
    task = begin_task()
    # Not by the usual way: the thread reads standard input for ever.
    os._exit(0 if answer(task, sys.stdout.buffer) else 1)
