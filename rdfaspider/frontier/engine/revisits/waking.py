"""Hosts that are woken when pages of theirs are due, and sleep when none is.

A host with kept pages has an alarm: tables/visits.py says when, and what survives a kill. When it rings, some
of the pages that are due come to hand (`recalled`), and the host competes for its turns with them, by the
same clocks as with new ones. As they are taken, others follow. When none may come, because none is due, the
budget is spent or the host is to be left alone, the host sleeps, with a new alarm.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rdfaspider.focus.visits.planner import LAST_TIME
from rdfaspider.frontier.schedule.queue import MOST_AT_HAND, MOST_OF_A_HOST
from rdfaspider.frontier.tables.visits import Alarms

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.engine.revisits.athand import AtHand
    from rdfaspider.frontier.engine.revisits.budget import Budget
    from rdfaspider.frontier.engine.revisits.share import Share
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.visits import Due

# Hosts woken at a time.
_WOKEN = 64
# A host that is to be left alone for longer than this has no pages at hand: they would take the places of
# others. It is looked at again after some time, because its rest may have been cut.
_AWAY, _AGAIN = 30.0, 3_600
# Pages that come to hand where new pages wait but none is ready.
_FEW = 4
# Where the due times of a host that wakes are read from: its alarm may be later than pages that are overdue.
_FIRST_TIME = 1


class Waking:
    """Wakes hosts and lets them sleep; the caller writes batch and host, but for `recall`, which does so."""

    def __init__(
        self,
        database: Database,
        due_pages: Due,
        schedule: Schedule,
        queue: Queue,
        at_hand: AtHand,
        budget: Budget,
        share: Share,
        until: float = inf,
    ) -> None:
        self._until = until
        # In a run that ends: when to look again at hosts that sleep although pages of theirs are due.
        self._delayed: dict[bytes, int] = {}
        self._alarms = Alarms(database)
        self._database = database
        self._due_pages = due_pages
        self._schedule = schedule
        self._hosts = schedule.hosts
        self._queue = queue
        self._at_hand = at_hand
        self._budget = budget
        self._share = share
        self.next_step = -inf
        """From when on there may be something to do: `Revisits.step` sets it, an alarm can make it sooner."""

    # --- when ---

    @property
    def next_time(self) -> float:
        """Return when hosts may be woken, infinity if no page is due at any time."""
        first = self._first
        return inf if first is None else max(first, self._budget.next_time)

    @property
    def _first(self) -> int | None:
        first = self._alarms.first
        if first is None or first <= self._until:
            return first
        return min(self._delayed.values(), default=None)

    @property
    def room(self) -> int:
        """Return how many pages may come to hand of hosts that are woken."""
        return MOST_AT_HAND // 2 - len(self._at_hand)

    # --- awake ---

    def recall(self, now: float, *, is_free: bool) -> bool:
        """Wake hosts whose pages are due, within the budget; return whether any was woken.

        Unless it `is_free`, as many as the share of revisits allows while new pages wait.
        """
        room = int(min(self.room, self._budget.left(now)))
        if self._share.has_new:
            room = min(room, max(int(self._share.left()), _FEW if is_free else 0))
        has_woken, batch = False, self._database.batch()
        while room > 0 and (first := self._first) is not None and first <= now:
            for key in self._ring(now, min(-(-room // MOST_OF_A_HOST), _WOKEN)):
                host = self._hosts.find(key)
                assert host is not None
                if not host.is_awake:
                    self._wake(batch, host, now, room)
                    room -= len(host.recalled)
                    has_woken = has_woken or bool(host.recalled)
            if has_woken and is_free:
                break
        if len(batch):
            self._database.write(batch)
        return has_woken

    def _ring(self, now: float, most: int) -> list[bytes]:
        """Return the keys of the next hosts to wake."""
        if self._alarms.first is not None and self._alarms.first <= self._until:
            return self._alarms.ring(min(now, self._until), most)
        keys = [key for key, time in self._delayed.items() if time <= now][:most]
        for key in keys:
            del self._delayed[key]
        return keys

    def _wake(self, batch: WriteBatch, host: Host, now: float, room: int) -> None:
        self.note_awake(host)
        if room > 0 and host.blocked <= now + _AWAY:
            self._load(host, now, -1, min(room, MOST_OF_A_HOST))
        if not host.recalled:
            self._let_sleep(batch, host, now)
            self._hosts.save(batch, host)
        self._schedule.update(host)

    def note_awake(self, host: Host) -> None:
        """Note that a host is awake, with all its pages that are due still to be read."""
        host.is_awake, host.next_due = True, _FIRST_TIME

    def load_more(self, host: Host, now: float, without: int) -> None:
        """Bring more pages to hand of a host that is awake, if they may come: fewer while there are many."""
        if host.blocked > now + _AWAY:
            return
        left = self._budget.left(now)
        if left >= 1.0 and (self._share.left() >= 1.0 or not self._share.has_new):
            room = max(1, min(MOST_OF_A_HOST, MOST_AT_HAND - len(self._at_hand)))
            self._load(host, now, without, int(min(room, left)))

    def _load(self, host: Host, now: float, without: int, most: int) -> None:
        """Bring pages of a host to hand that are due."""
        numbers: list[int] = []
        start, host.next_due = host.next_due, 0
        for time, number in self._due_pages.of(host, start):
            if number in host.in_flight or number == without:
                continue
            if time > now or time > self._until or len(numbers) == most:
                host.next_due = time
                break
            numbers.append(number)
        pages = self._at_hand.read(host, numbers) if numbers else []
        self._budget.spend(len(pages))
        self._queue.recall(host, pages[::-1])

    # --- asleep ---

    def note_due(self, batch: WriteBatch, host: Host, due: int) -> None:
        """See that a host is awake when a page is due."""
        if host.is_awake:
            host.next_due = min(host.next_due or LAST_TIME, due)
        elif not host.alarm or due < host.alarm:
            self._set_alarm(batch, host, due)

    def settle(
        self, batch: WriteBatch, host: Host, now: float, number: int = -1, due: int = 0
    ) -> None:
        """Give a host that is awake its next pages, or let it sleep until one is due.

        The page of the number has just ended: its due time, 0 if it has none, is not on disk yet.
        """
        if host.is_awake and host.recalled and host.blocked > now + _AWAY:
            self._put_back(host)
        if host.is_awake and not host.recalled:
            if 0 < host.next_due <= now:
                self.load_more(host, now, number)
                if due:
                    host.next_due = min(host.next_due or LAST_TIME, due)
            if not host.recalled and not host.revisiting:
                self._let_sleep(batch, host, now)

    def _put_back(self, host: Host) -> None:
        """Take the pages of a host that are not in flight off hand: they are due still."""
        for taken in self._queue.put_back_recalled(host):
            past, _ = self._at_hand.pop(taken.number)
            self._budget.spend(-1)
            host.next_due = min(host.next_due or LAST_TIME, past.due)

    def _let_sleep(self, batch: WriteBatch, host: Host, now: float) -> None:
        host.is_awake = False
        time = max(host.next_due, int(now) + 1) if host.next_due else 0
        if time and host.blocked > now + _AWAY:
            time = max(time, int(min(host.blocked, now + _AGAIN)))
        if host.next_due <= self._until < time:
            self._delayed[host.key] = time
        self._set_alarm(batch, host, time)

    def _set_alarm(self, batch: WriteBatch, host: Host, time: int) -> None:
        self._alarms.set(batch, host, time)
        if time:
            self.next_step = min(self.next_step, time)
