"""A worker of the pool: pages in, links and quads out, until its input ends.

    python -m rdfaspider.extract.worker OPTIONS MEMORY

It opens nothing, and its memory is limited by the system.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import BinaryIO

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.vocabulary import bundled


def main(options: str, memory: str) -> None:
    # Ctrl-C is for the crawl, which ends its workers when their pages are done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit = int(memory) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    serve(sys.stdin.buffer, sys.stdout.buffer, options_from_json(options))


def serve(pages: BinaryIO, answers: BinaryIO, options: Options) -> None:
    """Answer each page in turn."""
    while line := pages.readline():
        page = json.loads(line)
        body = pages.read(page["size"])
        _write(answers, extract(body, page["url"], page["content_type"], options))


def _write(answers: BinaryIO, extraction: Extraction) -> None:
    header = {
        "links": extraction.links,
        "relations": extraction.relations,
        "texts": extraction.texts,
        "predicates": extraction.predicates,
        "longest": extraction.longest,
        "facts": extraction.facts.to_json(),
        "size": len(extraction.nquads),
    }
    answers.write(json.dumps(header).encode() + b"\n" + extraction.nquads)
    answers.flush()


def options_from_json(text: str) -> Options:
    given = json.loads(text)
    return Options(
        formats=frozenset(given["formats"]),
        limits=Limits(**given["limits"]),
        role=given["role"],
        vocabularies=bundled() if given["expand"] else {},
        rdfa=given["rdfa"],
        agent=given["agent"],
        text=given["text"],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
