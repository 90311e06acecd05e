"""A worker of the pool: pages in, links and quads out, until its input ends.

It is not in the package of the pool, whose imports, asyncio and all, would take a fifth of its start.

It reads a sample page within its limits before it says that it is ready. It opens nothing. The system limits
its memory, and its CPU time too, because a crawl that was killed cannot end it. Pages come in and answers go
out through standard input, a socket; standard output is left to libraries that print.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import resource
import select
import signal
import sys
from time import monotonic
from typing import BinaryIO

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.extract.rdfa.vocabulary import bundled
from rdfaspider.heap import keep_freed

# Megabytes that must be free to read pages.
_LEAST_MEMORY = 64
# Seconds beyond the time limit; before that the crawl, if it is alive, ends the worker itself.
_GRACE = 5.0

# Seconds and bytes for which answers are held back to send them with those that come next.
_SOON = 0.1
_BUFFER = 1 << 17

_READY = b'{"size": 0}\n'
# Made in advance: when it is needed, no memory may be left.
_OUT_OF_MEMORY = b'{"failed": "memory", "size": 0}\n'
_SAMPLE = b"""<!DOCTYPE html><title>A</title><p property="schema:name">B</p><a href="/c">C</a>
<script type="application/ld+json">{"@context": "https://schema.org", "name": "D"}</script>
<p itemscope itemtype="http://schema.org/Thing"><i itemprop="name">E</i>
<p>So many words that the detector of languages is loaded now, which may take a second."""


def main(options: str, memory: str, timeout: str) -> None:
    # Ctrl-C is meant for the crawl, which ends its workers when their pages are done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Writes a traceback to standard error, which the crawl logs, if native code crashes.
    faulthandler.enable()
    what = options_from_json(options)
    keep_freed()
    _limit_memory(int(memory))
    _read_sample(what, memory)
    with open(0, "wb", _BUFFER, closefd=False) as answers:
        answers.write(_READY)
        answers.flush()
        serve(sys.stdin.buffer, answers, what, float(timeout) + _GRACE)


def _limit_memory(megabytes: int) -> None:
    limit = megabytes << 20
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except ValueError:
        most = resource.getrlimit(resource.RLIMIT_AS)[1] >> 20
        sys.exit(f"EXTRACT_MEMORY_MB={megabytes} is more than the {most} MB of ulimit -v")


def _read_sample(options: Options, memory: str) -> None:
    """Ask for the memory that pages need, and read one; exit if that fails."""
    too_little = f"EXTRACT_MEMORY_MB={memory} leaves no room for a page"
    try:
        # Tested first: without it a parser may fail in any way. It is reserved, not filled.
        mmap.mmap(-1, _LEAST_MEMORY << 20).close()
    except OSError:
        sys.exit(too_little)
    facts = extract(_SAMPLE, "http://example.org/", "text/html", options).facts
    if facts.is_out_of_memory:
        sys.exit(too_little)
    for trace in facts.errors.values():
        sys.exit(trace)


def serve(batches: BinaryIO, answers: BinaryIO, options: Options, seconds: float) -> None:
    """Answer each page in turn; the system kills the process when a page takes more CPU seconds.

    The answers to several pages are sent together, to the end of a batch or if the next is already there.
    """
    sent = monotonic()
    coming = select.poll()
    coming.register(batches, select.POLLIN)
    while line := batches.readline():
        for url, content_type, size in json.loads(line):
            body = batches.read(size)
            # It counts CPU time, so it stands still while the worker waits for the next page.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answers.write(_answer(body, url, content_type, options))
            if monotonic() > sent + _SOON:
                answers.flush()
                sent = monotonic()
        if not coming.poll(0):
            answers.flush()
            sent = monotonic()


def _answer(body: bytes, url: str, content_type: str, options: Options) -> bytes:
    """Return what a page holds, or that it needs too much memory."""
    try:
        extraction = extract(body, url, content_type, options)
        return _OUT_OF_MEMORY if extraction.facts.is_out_of_memory else extraction.encode()
    except MemoryError:
        return _OUT_OF_MEMORY


def options_from_json(text: str) -> Options:
    given = json.loads(text)
    given["formats"] = frozenset(given["formats"])
    given["limits"] = Limits(**given["limits"])
    given["vocabularies"] = bundled() if given["vocabularies"] else {}
    return Options(**given)
