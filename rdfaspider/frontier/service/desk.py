"""What the service does for its workers: it keeps who holds what, and hands out the frontier's URLs.

Layout. A URL that is handed out has a grant, a number that its worker knows it by; these numbers go up.
Invariant: what is in flight in the frontier is held by exactly one worker, or kept for one (allocator.py).
All of this is in memory: after a kill it comes back with the workers, whose names are in the note `workers`.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import fields, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable, UrlView, is_page
from rdfaspider.frontier.service import BEAT, DEAD_AFTER
from rdfaspider.frontier.service.allocator import Allocator
from rdfaspider.frontier.service.logbook import Logbook
from rdfaspider.frontier.service.notices import Notices
from rdfaspider.frontier.service.wire import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfaspider.frontier import Counts, HostView, Taken
    from rdfaspider.frontier.local import LocalFrontier
    from rdfaspider.frontier.partitions import Division

logger = logging.getLogger(__name__)

# The note that has the names of the workers.
WORKERS = "workers"
# Hosts that are told of in one reply.
_HOSTS = 1000
# URLs that are looked at for one reply, when all of them are.
_URLS = 20_000
# The numbers of all are counted anew when they are so old, in seconds.
_COUNTED = 0.5

# Numbers of hosts are smaller than two to this power.
_COPY = 32

Message = dict[str, Any]


class Worker:
    """A worker as the service knows it; `run` tells two of the same name apart.

    `number` and `reply` are of the last message, in case that the reply did not arrive. `hosts` are the
    numbers of hosts whose URLs it held when it came, by those that another copy of the frontier has told it.
    """

    def __init__(self, name: str, run: str) -> None:
        self.name = name
        self.run = run
        self.about: Message = {}
        self.held: dict[int, Taken] = {}
        self.hosts: dict[int, int] = {}
        self.lent: set[str] = set()
        self.turns: set[str] = set()  # names of those of servers that it has
        self.grants = 0
        self.ended = 0
        self.heard = 0.0
        self.session: object | None = None  # None while it is not connected
        self.number = -1
        self.reply: Message = {}
        self.seen: dict[str, int] = {}  # the versions of notes that it knows
        self.views: Iterator[HostView] = iter(())
        self.rows: Iterator[UrlView | bool | None] = iter(())

    def turn(self, name: str) -> str:
        """Return the name of a turn of a server, which another worker may have asked for before it died."""
        return f"{name} {self.name}"


class Desk:
    """Serves workers from a frontier that nobody else uses.

    `clock` is the time; None if the workers tell it, as tests do. `copy` is the number of this copy of the
    frontier, if there are several: hosts have other numbers in each, so workers get both in one number.
    `division` says which worker gets which hosts, if it can be.
    """

    def __init__(
        self,
        frontier: LocalFrontier,
        clock: Callable[[], float] | None,
        copy: int = 0,
        division: Division | None = None,
    ) -> None:
        self.frontier = frontier
        self._copy = copy << _COPY
        self._shard = frontier.shard
        self._puts = 0
        self.run = os.urandom(8).hex()
        self.workers: dict[str, Worker] = {}
        self._clock = clock
        self._counted: tuple[float, Counts] | None = None
        self._allocator = Allocator(frontier, division)
        self._expected = set(json.loads(frontier.note(WORKERS) or b"[]"))
        self.notices = Notices(frontier)
        if not self._expected:
            self.notices.end_stop()
        self.logbook = Logbook(frontier.path)
        self._politeness = frontier.politeness
        self._heed()
        self._opens = DEAD_AFTER + (clock() if clock is not None else 0.0)
        self._operations: dict[str, Callable[..., None]] = {
            "put": self._put,
            "end": self._end,
            "retry": self._retry,
            "release": self._release,
            "report": self._report,
            "slow": self._slow,
            "place": self._place,
            "repay": self._repay,
            "note": self._note,
            "add": self._add,
            "event": self._event,
            "return": self._return,
            "forwarded": self._forwarded,
            "floor": self._floor,
        }
        # For whoever runs the service: the pages after which nothing more is handed out, 0 for no limit, and
        # what to do with the counters of workers, with what happens to them, and when all are told to stop.
        self.page_limit = 0
        self.heard: Callable[[Message], None] = lambda growth: None
        self.happened: Callable[[str, Message], None] = lambda name, words: None
        self.stopped: Callable[[], None] = lambda: None
        self._pages = 0

    def now(self, message: Message) -> float:
        """Return the time of a message: when it was read."""
        return float(message["now"]) if self._clock is None else self._clock()

    # --- who is there ---

    def greet(self, message: Message) -> tuple[Worker, Message]:
        """Let a worker in, or back, with what it holds; return it, and what to tell it."""
        now, name, run = self.now(message), str(message["name"]), str(message["run"])
        worker = self.workers.get(name)
        if worker is not None and worker.run != run:
            if worker.session is not None:
                raise FrontierUnavailable(
                    f"The name {name} is in use by another worker of this crawl: give each worker its"
                    " own FRONTIER_WORKER and JOBDIR, or leave the name empty."
                )
            self._bury(worker, now)
            worker = None
        is_new = worker is None
        if worker is None:
            worker = Worker(name, run)
            worker.grants = int(message["grants"])
        worker.heard = now
        worker.about = dict(message["about"])
        worker.seen = self.notices.versions([str(name) for name in message["watch"]])
        kept = self._take_back(worker, message, now) if is_new else list(worker.held)
        if is_new and name:  # an onlooker has none, and is not one of the workers
            if not (name in self._expected or worker.grants):  # it was started after the stop
                self.notices.end_stop()
            self.workers[name] = worker
            self._expected.discard(name)
            self._note_workers()
        frontier = self.frontier
        limits = {"depth": frontier.limits.depth, "dynamic_depth": frontier.limits.dynamic_depth}
        told = {"run": self.run, "order": frontier.order, "limits": limits, "kept": kept}
        return worker, told | {"shard": list(self._shard)}

    def _take_back(self, worker: Worker, message: Message, now: float) -> list[int]:
        """Take what a worker holds into flight again; return its grants of what is not with others."""
        for name, address in message.get("turns", ()):
            self.frontier.lending.lend_again(worker.turn(name), str(address), now)
            worker.turns.add(str(name))
        for grant, url, host in message["holds"]:
            if (taken := self.frontier.adopt(url, now)) is not None:
                worker.held[int(grant)] = taken
                worker.hosts[int(host)] = taken.host
        return list(worker.held)

    def _host(self, worker: Worker, number: int) -> int:
        """Return the number of a host that a worker names; -1, which no host has, if nobody knows it."""
        own = number // self._shard.total
        if own >> _COPY << _COPY == self._copy:
            return own - self._copy
        return worker.hosts.get(number, -1)

    def _number(self, host: int) -> int:
        """Return the number by which workers know a host: no other shard, and no other copy, has it."""
        return (self._copy + host) * self._shard.total + self._shard.number

    def _note_workers(self) -> None:
        names = sorted({*self.workers, *self._expected})
        self.frontier.set_note(WORKERS, json.dumps(names).encode())

    def leave(self, worker: Worker, now: float) -> None:
        """Let a worker go."""
        self._put_back(worker, now)
        if self.workers.pop(worker.name, None) is not None:
            self._note_workers()

    def bury_the_dead(self) -> None:
        """Put back what workers held who were not heard of for too long."""
        if self._clock is None:
            return  # nobody can tell
        now = self._clock()
        self._allocator.tidy(now)
        for worker in [each for each in self.workers.values() if now - each.heard > DEAD_AFTER]:
            logger.warning("The worker %s is gone: its URLs are handed out again.", worker.name)
            self._bury(worker, now)
        if self._expected and now >= self._opens:
            logger.warning("Workers did not come back: %s.", ", ".join(sorted(self._expected)))
            self._expected.clear()
            self._note_workers()

    def hear_all(self) -> None:
        """Take all workers for alive, because none could be heard of."""
        for worker in self.workers.values():
            worker.heard = worker.heard if self._clock is None else self._clock()

    def bury(self, name: str) -> None:
        """Put back what a worker held that is known to be dead."""
        assert self._clock is not None
        self._expected.discard(name)
        if (worker := self.workers.get(name)) is not None:
            self._bury(worker, self._clock())

    def _bury(self, worker: Worker, now: float) -> None:
        self._put_back(worker, now)
        del self.workers[worker.name]
        self._note_workers()

    def _put_back(self, worker: Worker, now: float) -> None:
        self._allocator.leave(worker.name, now)
        for taken in worker.held.values():
            self.frontier.release(taken, now)
        worker.held.clear()
        for url in worker.lent:
            self.frontier.repay(url, now)
        worker.lent.clear()
        for name in worker.turns:
            self.frontier.lending.end(worker.turn(name), now)
        worker.turns.clear()

    # --- what they say, and get ---

    def exchange(self, worker: Worker, message: Message) -> Message:
        """Do what a worker says, and give it what it wants."""
        if worker.name and self.workers.get(worker.name) is not worker:
            raise ConnectionResetError("it was taken for dead")  # it may greet again
        number = int(message["number"])
        if number == worker.number:
            return worker.reply  # it did not arrive
        worker.heard = now = self.now(message)
        worker.seen |= self.notices.versions(message.get("watch", ()))
        for name, *words in message["did"]:
            if name not in self._operations:
                raise WireError(f"there is no operation {name!r}")
            self._operations[name](worker, now, *words)
        reply: Message = {"number": number}
        if "want" in message:
            self._hand_out(worker, int(message["want"]), now, reply)
        if "borrow" in message:
            reply["lent"] = [self._borrow(worker, now, *words) for words in message["borrow"]]
        if "unplaced" in message:
            hosts = self.frontier.unplaced(int(message["unplaced"]))
            reply["unplaced"] = [(self._number(host), name) for host, name in hosts]
        if "turns" in message:
            reply["turns"] = [self._lend(worker, now, *words) for words in message["turns"]]
        if "owed" in message:
            reply["owed"] = self.frontier.owed(int(message["owed"]), now)
        if "stats" in message:
            self.heard(message["stats"])
        if message.get("log"):
            self._write_log(worker, message["log"])
        if "look" in message:
            self._look(worker, message, now, reply)
        self.notices.add_to(reply, worker.seen)
        worker.number, worker.reply = number, reply
        return reply

    def _hand_out(self, worker: Worker, want: int, now: float, reply: Message) -> None:
        """Add URLs to a reply, and if there are fewer than wanted, when there will be more."""
        if self.notices.state != "run" or self.is_waiting_for_workers(now):
            reply["wait"] = BEAT
            return
        if self.page_limit:  # those in flight may be the last
            held = self.frontier.in_flight - self._allocator.kept
            want = max(0, min(want, self.page_limit - self._pages - held))
        rows: list[tuple[object, ...]] = []
        servers: list[str] = []
        for taken in self._allocator.take(worker.name, want, now, is_idle=not worker.held):
            worker.grants += 1
            worker.held[worker.grants] = taken
            place = (taken.number, self._number(taken.host), taken.hint, taken.hops)
            rows.append((worker.grants, taken.url, taken.depth, taken.attempts, *place))
            if self._shard.total > 1:
                servers.append(self.frontier.address_of(taken.host))
        reply["taken"] = rows
        if any(servers):
            reply["servers"] = servers
        if len(rows) < want or not want:
            wait = self.frontier.wait(now)
            if self._allocator.kept:
                wait = BEAT if wait is None else wait
            if wait is not None and self.frontier.in_flight > len(worker.held):
                wait = min(wait, BEAT)  # the others may find links at any moment
            if self.frontier.is_owing or self.frontier.lending.first is not None:
                wait = BEAT if wait is None else min(wait, BEAT)
            reply |= {"wait": wait, "puts": f"{self.run} {self._puts}"}

    @property
    def has_enough_pages(self) -> bool:
        return bool(self.page_limit) and self._pages >= self.page_limit

    def is_waiting_for_workers(self, now: float) -> bool:
        """Tell whether workers may come back with what they hold, which nobody else may get."""
        return self._clock is not None and bool(self._expected) and now < self._opens

    @property
    def is_deserted(self) -> bool:
        """Tell whether no worker is there, and none is waited for."""
        return not (self.workers or self._expected)

    def _look(self, worker: Worker, message: Message, now: float, reply: Message) -> None:
        if message["look"] == "exact":
            self._counted = None
        counts = self._counts(now)
        states = (counts.waiting, counts.in_flight, counts.done, counts.failed, counts.denied)
        reply["counts"] = [*states, dict(counts.rejected)]
        reply["depths"] = [(grant, taken.depth) for grant, taken in worker.held.items()]
        if self._shard.total > 1:
            reply["floor"] = self.frontier.floor

    def _counts(self, now: float) -> Counts:
        if self._clock is None or self._counted is None or now - self._counted[0] > _COUNTED:
            self._counted = now, self.frontier.counts()
        return self._counted[1]

    def ask(self, worker: Worker, message: Message) -> Message:
        """Answer a question, or a farewell."""
        worker.heard = now = self.now(message)
        match message["ask"]:
            case "note":
                return {"note": _text(self.frontier.note(str(message["name"])))}
            case "knows":
                return {"knows": self.frontier.knows(str(message["url"]))}
            case "hosts":
                if message["begin"]:
                    worker.views = self.frontier.hosts(now)
                return {"hosts": [_list(view) for view in islice(worker.views, _HOSTS)]}
            case "leave":
                self.leave(worker, now)
                return {}
            case "url":
                view = self.frontier.views.of(str(message["url"]))
                return {"url": None if view is None else _list(view)}
            case "ended" | "requeue":
                return self._go_on(worker, message)
            case "tell":
                return self._tell(str(message["name"]), str(message["value"]))
            case "log":
                return {"lines": self.logbook.last(int(message["most"]), str(message["level"]))}
            case "workers":
                return {"workers": [self._describe(each, now) for each in self.workers.values()]}
            case question:
                raise WireError(f"there is no question {question!r}")

    def _go_on(self, worker: Worker, message: Message) -> Message:
        """Do the next part of something that goes through all URLs; an empty list is its end."""
        if message["begin"]:
            frontier, pattern = self.frontier, str(message["pattern"])
            is_list = message["ask"] == "ended"
            worker.rows = (
                frontier.views.scan(message["state"], pattern)
                if is_list
                else frontier.requeuing(pattern)
            )
        part = list(islice(worker.rows, _URLS))
        found = [_list(row) if isinstance(row, UrlView) else 1 for row in part if row]
        return {"found": found, "is_over": len(part) < _URLS}

    def _tell(self, name: str, value: str) -> Message:
        try:
            self.notices.tell(name, value)
        except ValueError as error:
            return {"error": str(error)}
        self._heed()
        if self.notices.state == "stop":
            self.stopped()
        return {"told": self.notices.told}

    def _heed(self) -> None:
        """Keep the delays that all were told."""
        self.frontier.politeness = replace(self._politeness, **self.notices.numbers)  # type: ignore[arg-type]

    def _write_log(self, worker: Worker, lines: list[Any]) -> None:
        try:
            self.logbook.write(
                worker.name, [(float(when), str(level), str(text)) for when, level, text in lines]
            )
        except OSError as error:
            logger.warning("The log of the workers cannot be written: %s", error)

    def _describe(self, worker: Worker, now: float) -> Message:
        return {
            "name": worker.name,
            "about": worker.about,
            "held": len(worker.held),
            "ended": worker.ended,
            "silent": now - worker.heard,
        }

    # --- operations ---

    def _put(
        self,
        worker: Worker,
        now: float,
        urls: list[str],
        depth: int,
        contexts: list[int],
        hops: int = 0,
    ) -> None:
        self._puts += 1
        self.frontier.put(urls, depth, contexts, hops)

    def _end(
        self, worker: Worker, now: float, grant: int, state: Any, links: list[str], rest: Message
    ) -> None:
        if (taken := worker.held.pop(grant, None)) is not None:
            worker.ended += 1
            self._pages += is_page(rest["status"], rest["reason"])
            self.frontier.finish(taken, state, now, links, **rest)

    def _retry(self, worker: Worker, now: float, grant: int, after: float, rest: Message) -> None:
        if (taken := worker.held.pop(grant, None)) is not None:
            self.frontier.retry(taken, now, after, **rest)

    def _release(self, worker: Worker, now: float, grant: int) -> None:
        if (taken := worker.held.pop(grant, None)) is not None:
            self.frontier.release(taken, now)

    def _report(self, worker: Worker, now: float, host: int, said: Message) -> None:
        self.frontier.report(self._host(worker, host), now, **said)

    def _slow(
        self, worker: Worker, now: float, host: int, delay: float | None, seconds: float | None
    ) -> None:
        until = None if seconds is None else now + seconds
        self.frontier.slow_down(self._host(worker, host), crawl_delay=delay, until=until)

    def _place(self, worker: Worker, now: float, host: int, address: str) -> None:
        self.frontier.place(self._host(worker, host), address)

    def _borrow(
        self,
        worker: Worker,
        now: float,
        host: int | None,
        url: str,
        address: str,
        alone: bool = False,
    ) -> float:
        if url in worker.lent:
            return 0.0
        if self.is_waiting_for_workers(now):
            return BEAT
        own = None if host is None else self._host(worker, host)
        seconds = self.frontier.borrow(own, url, address, now, alone=alone)
        if seconds == 0.0:
            worker.lent.add(url)
        return seconds

    def _repay(self, worker: Worker, now: float, url: str) -> None:
        if url in worker.lent:
            worker.lent.discard(url)
            self.frontier.repay(url, now)

    def _lend(self, worker: Worker, now: float, name: str, address: str, shard: int) -> float:
        """Lend a page of another shard the turn of a server; return the seconds to wait if that cannot be."""
        if name in worker.turns:
            return 0.0
        if self.is_waiting_for_workers(now):
            return BEAT
        seconds = self.frontier.lending.lend(worker.turn(name), address, shard, now)
        if seconds == 0.0:
            worker.turns.add(name)
        return seconds

    def _return(self, worker: Worker, now: float, name: str) -> None:
        if name in worker.turns:
            worker.turns.discard(name)
            self.frontier.lending.end(worker.turn(name), now)

    def _forwarded(self, worker: Worker, now: float, page: str, depth: int) -> None:
        self.frontier.forwarded(page, depth)

    def _floor(self, worker: Worker, now: float, depth: int) -> None:
        self.frontier.set_floor_elsewhere(int(depth))

    def _note(self, worker: Worker, now: float, name: str, value: str) -> None:
        self.frontier.set_note(name, value.encode("latin-1"))

    def _event(self, worker: Worker, now: float, name: str, words: Message) -> None:
        self.happened(name, words)

    def _add(self, worker: Worker, now: float, name: str, value: str) -> None:
        self.notices.add(name, value.encode("latin-1"), worker.seen)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _list(view: HostView | UrlView) -> list[object]:
    return [getattr(view, field.name) for field in fields(view)]
