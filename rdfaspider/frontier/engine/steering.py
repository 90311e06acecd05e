"""The link graph steers the crawl: when PageRank is computed again, and what follows from it.

A crawl knows more links with every page. When it has grown enough, or as many pages were visited again, the
ranks of all URLs are computed beside it (ranker.py). Waiting URLs whose hints say something else are moved to
where they belong, a few with each URL that is handed out. So `take` never waits for it. In between each new
link adds as much as an average one. Revisits are planned by the last ranks (revisits/).

Bounds. One computation runs at a time, and the time of the processor that computations take is at most a
share of the time that passes.

What survives a kill: the ranks of the last computation (tables/ranks.py), and each URL that was moved. The
rest of the moves is lost; the next computation finds what is still out of place.

Replicas: only the leader computes, because only it hands out URLs. Shards: each has the ranks of the links on
its own pages; a link from another shard counts as an average one, until the next computation.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from array import array
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.children import command
from rdfaspider.frontier.engine.ranker import rank
from rdfaspider.frontier.tables.ranks import Ranks
from rdfaspider.frontier.tables.trie import POSTPONED, WAITING, unpack
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfaspider.frontier.engine.urls import Urls
    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record

logger = getLogger(__name__)

# Pages that are worth a computation, and how much a crawl must have grown for the next.
LEAST_PAGES = 1_000
GROWTH = 1.25
# The share of the time that computations may take of a processor.
SHARE = 0.03
# Seconds after which a failed computation is tried again.
_RETRY = 3_600.0
# Takes between two looks at the clock or the process, and URLs moved with a take.
_LOOKS = 64
_MOVED = 8
# How far the last computation whose moves were all made had come: after a kill they are found again.
_RANKED = b"ranked"
# Seconds for the process to end.
_ENDING = 5.0


class Steering:
    """Computes ranks and moves URLs. `ranks` has what was computed last.

    every            seconds between two computations, at least; 0 computes none
    keeps_graph      whether there are links to compute from
    weighs_revisits  whether revisits are planned by ranks, under any order
    """

    def __init__(
        self,
        database: Database,
        path: Path,
        urls: Urls,
        schedule: Schedule,
        queue: Queue,
        order: Order,
        *,
        every: float,
        keeps_graph: bool,
        now: float,
        weighs_revisits: bool = False,
    ) -> None:
        self._database = database
        self._path = path
        self._folder = path.with_name(f"{path.name}.ranking")
        self._urls = urls
        self._schedule = schedule
        self._queue = queue
        self._order = order
        self._every = every
        self.ranks = Ranks(path)
        if self.ranks.urls > urls.counters.next_number:  # those of another crawl
            self.ranks.close()
        self._process: subprocess.Popen[str] | None = None
        self._moves: Iterator[int] | None = None
        self._countdown = _LOOKS
        self._due = now + every
        self._pause = every  # from one computation to the next
        # The pages that the last computation knew whose moves were all made.
        self._ranked = int(database.meta.get(_RANKED) or b"0") if self.ranks.urls else 0
        self._revisited = 0  # kept pages handed out since the last computation
        is_asked = (order.reads_ranks or weighs_revisits) and every > 0
        self._is_on = is_asked and _is_possible(keeps_graph, order.reads_ranks)

    def step(self, now: float) -> None:
        """Do a little of what is to be done; a URL is about to be handed out."""
        if self._moves is not None:
            self._move(islice(self._moves, _MOVED))
            return
        self._countdown -= 1
        if self._countdown:
            return
        self._countdown = _LOOKS
        if self._process is not None:
            if self._process.poll() is not None:
                self._take_over(now)
        elif self._is_on and self._is_due(now):
            self._start(now)

    def _is_due(self, now: float) -> bool:
        self._due = min(self._due, now + self._pause)  # the clock was set back
        counters = self._urls.counters
        pages = counters.done + counters.kept
        has_grown = pages + self._revisited >= GROWTH * self._ranked
        return now >= self._due and pages >= LEAST_PAGES and has_grown

    def count_revisit(self) -> None:
        """Notice that a kept page is handed out: its links may be others now."""
        self._revisited += 1

    # --- the process ---

    def _start(self, now: float) -> None:
        self._clear()
        self._revisited = 0
        try:
            self._process = subprocess.Popen(
                command("rdfaspider.frontier.engine.ranker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for the crawl, which ends it
            )
        except OSError as error:
            self._put_off(now, f"PageRank cannot be computed: {error}.")
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps([str(self._path), str(self._folder)]) + "\n")
            self._process.stdin.flush()

    def _take_over(self, now: float) -> None:
        """Read what the process has said and written."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            said = process.stdout.read()
        try:
            found = json.loads(said)
        except ValueError:
            found = f"The process that computes PageRank has ended with {process.returncode}."
        if not isinstance(found, dict):
            self._put_off(now, str(found))
            return
        logger.info(
            "PageRank of %d URLs by %d links took %.1f s; %d of them are moved.",
            *(found[name] for name in ("urls", "links", "seconds", "moves")),
        )
        self._put_off_by(now, max(self._every, found["seconds"] / SHARE))
        self.ranks.reload()
        self._moves = _read_moves(self._folder / "moves")

    def _put_off(self, now: float, why: str) -> None:
        logger.warning("%s It is tried again in an hour.", why)
        self._put_off_by(now, max(self._every, _RETRY))

    def _put_off_by(self, now: float, seconds: float) -> None:
        self._pause, self._due = seconds, now + seconds

    def rank_now(self) -> None:
        """Compute the ranks and move all URLs at once, as a simulation does."""
        moves = rank(self._database, self._order, self._path, self._folder).moves
        self._clear()
        self.ranks.reload()
        self._move(moves)
        self._move(())  # all is done

    # --- waiting URLs ---

    def _move(self, moves: Iterable[int]) -> None:
        """Give URLs the hints that their ranks ask for."""
        weights = {move >> 8: move & 255 for move in moves}
        if not weights:
            self._moves = None
            self._ranked = self.ranks.pages
            self._database.meta[_RANKED] = b"%d" % self._ranked
            self._clear()
            return
        batch = self._database.batch()
        keys = self._urls.trie.keys(sorted(weights))
        hosts: dict[int, Host] = {}
        for key, data in zip(keys, self._urls.trie.records(keys), strict=True):
            assert data is not None
            record = unpack(data)
            hint = self._order.ranked(record.hint, weights[record.number])
            if hint == record.hint:
                continue
            better = record._replace(hint=hint)
            if record.state == WAITING:
                host = self._schedule.hosts.known(key)
                self._urls.move(batch, host, key, record, better)
                if taken := self._queue.get(record.number):
                    taken.hint = hint
                elif self._is_before_queue(host, key, better):
                    hosts[host.id] = host
            if record.state in (WAITING, POSTPONED):
                self._urls.trie.update(batch, key, better)
        self._database.write(batch)
        for host in hosts.values():
            self._queue.put_back(host)
            self._schedule.compare_again(host)

    def _is_before_queue(self, host: Host, key: bytes, record: Record) -> bool:
        """Return whether a URL comes before some of those of its host that are at hand."""
        if not host.queue:
            return True
        _, last = host.queue[0]
        place = self._order.rank(to_key(last.url), last.depth, last.hint)
        return self._order.rank(key, record.depth, record.hint) < place

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """End the process, if one runs."""
        if (process := self._process) is not None:
            self._process = None
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._clear()
        self.ranks.close()


def _is_possible(keeps_graph: bool, reads_ranks: bool) -> bool:
    """Return whether ranks can be computed; if not, say what decides instead."""
    instead = "the number of links decides" if reads_ranks else "triples alone weigh revisits"
    if not keeps_graph:
        logger.info("LINKGRAPH is off: %s, without PageRank.", instead)
    elif find_spec("numpy") is None:
        logger.info(
            "numpy is not installed: %s, without PageRank; pip install 'rdfaspider[analysis]'.",
            instead,
        )
    else:
        return True
    return False


def _read_moves(path: Path) -> Iterator[int]:
    """Yield the moves in a file, a piece at a time; none if it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        while data := file.read(1 << 16):
            yield from array("Q", data)
