"""Pages that are visited again: kept with a due time, recalled when it comes, planned anew at the end.

A kept page has a due time (tables/visits.py), and its host an alarm. When the alarm rings, the host is woken:
some of its pages that are due come to hand (`recalled`), and the host competes for its turns with them, by
the same clocks as with new ones. When none is left that is due, the host sleeps, with a new alarm.

While new pages wait, only a share of the fetches are revisits. The two compare by the same number: a new page
brings what an old one brings after infinite time, and a revisit is due when it brings the price. Where
nothing else is ready, revisits come without limit.

A page of twice the quality is worth twice the triples, which is the same as half the price. Quality is
PageRank within bounds (focus/visits/value.py). It is read when a visit is planned, and not stored.

In memory are only the pages at hand, so after a crash all that were in flight are due still.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rdfaspider.focus.visits.planner import LAST_TIME, Past, Planner
from rdfaspider.focus.visits.rates import Rates
from rdfaspider.focus.visits.scale import decode_interval, encode_coarsely
from rdfaspider.focus.visits.value import quality
from rdfaspider.frontier import Taken, Visit
from rdfaspider.frontier.engine.revisits.budget import Budget
from rdfaspider.frontier.engine.revisits.manager import Manager
from rdfaspider.frontier.engine.revisits.repricing import Repricing
from rdfaspider.frontier.engine.revisits.signals import Signals
from rdfaspider.frontier.schedule.queue import MOST_AT_HAND, MOST_OF_A_HOST
from rdfaspider.frontier.tables.trie import Record, unpack
from rdfaspider.frontier.tables.visits import Alarms, Said
from rdfaspider.urls.keys import to_key, to_url

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Fields, RevisitRules
    from rdfaspider.frontier import Keep
    from rdfaspider.frontier.engine.revisits.walk import Walk
    from rdfaspider.frontier.engine.urls import Urls
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.leases import Leases
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.links.inbox import Inbox
    from rdfaspider.frontier.tables.ranks import Ranks

# Hosts woken at a time.
_WOKEN = 64
# Pages that come to hand where new pages wait but none is ready.
_FEW = 4
# Takes that revisits may make up for while new pages wait.
_CREDIT = 10.0
# Visits after which what was learnt is written; a kill loses the rest.
_SAVED_AFTER = 1_000
# How much a new first visit counts for the weight of new pages, after this many; and after how many visits
# these are compared with revisits again.
_NEWEST, _MANY, _COMPARED = 0.01, 100, 64
# Of a page that was not visited before.
_UNKNOWN: tuple[None, Said] = None, Said()
# Where the due times of a host that wakes are read from: its alarm may be later than pages that are overdue.
_FIRST_TIME = 1

_PRICE, _RATES, _WEIGHT = b"price", b"rates", b"weight of new pages"


class Revisits:
    """Keeps, recalls and plans; the caller writes the batches, and the hosts with them."""

    def __init__(
        self,
        database: Database,
        rules: RevisitRules,
        urls: Urls,
        schedule: Schedule,
        queue: Queue,
        inbox: Inbox,
        leases: Leases,
        ranks: Ranks,
    ) -> None:
        self._meta = database.meta
        self.urls = urls
        self._schedule = schedule
        self.hosts = schedule.hosts
        self._queue = queue
        self._inbox = inbox
        self._leases = leases
        self._ranks = ranks
        self._database = database
        stored = self._meta.get(_RATES)
        self.planner = Planner(
            rules,
            Rates.load(stored) if stored else Rates(),
            float(self._meta.get(_PRICE) or b"0"),
        )
        self.alarms = Alarms(database)
        self._budget = Budget(rules, urls.counters)
        self.in_flight = 0
        # Pages kept since the start, and kept ones handed out.
        self.visits = self.recalls = 0
        self._saved = 0  # of these visits
        # How many revisits may be made while new pages wait, and up to which new page this was counted.
        self._credit, self._counted = 0.0, queue.popped
        # The weight of new pages, in the mean, and of how many.
        weight = self._meta.get(_WEIGHT)
        self._weight, self._weighed = float(weight or b"1"), _MANY if weight else 0
        self._weights: list[float] = []  # of the last ones, which are not in it yet
        self._walk: Walk = (Manager if rules.policy == "wire" else Repricing)(database, self)
        # There is nothing to do for `step` from one time to another.
        self.began, self.next_step = inf, -inf
        self._earned = 0.0
        self.compare()
        # Of pages at hand.
        self._pasts: dict[int, tuple[Past, Said]] = {}
        self.signals = Signals(database, self)

    def is_at_hand(self, number: int) -> bool:
        return number in self._pasts

    def quality(self, number: int) -> float:
        """Return by what the weight of a page is multiplied."""
        ranks = self._ranks
        return quality(ranks.of(number), self.planner.rules.rank) if ranks.urls else 1.0

    def factor(self, host: Host, number: int) -> float:
        """Return by what the price is multiplied for a page of a host."""
        return host.factor / self.quality(number)

    # --- out ---

    def step(self, now: float) -> None:
        """Do what time has brought: go on with the walk, and wake hosts within the share of revisits.

        The caller does this at any time that is not between `began` and `next_step`.
        """
        walk = self._walk
        self._budget.left(now)  # so that it counts from the first step on
        if not walk.began <= now < walk.next:
            walk.step(now)
        if self._next_recall <= now:
            self.recall(now, is_free=False)
        self.began, self.next_step = walk.began, min(walk.next, self._next_recall)

    @property
    def next_time(self) -> float | None:
        """Return when a host is to be woken, or a walk must go on; None if there is nothing."""
        time = self._next_recall
        if self._walk.alarm is not None:
            time = min(time, self._walk.alarm)
        return time if time < inf else None

    @property
    def _next_recall(self) -> float:
        """Return when hosts may be woken, infinity if no page is due at any time."""
        first = self.alarms.first
        return inf if first is None else max(first, self._budget.next_time)

    def recall(self, now: float, *, is_free: bool) -> bool:
        """Wake hosts whose pages are due, within the budget; return whether any was woken.

        Unless it `is_free`, as many as the share of revisits allows while new pages wait.
        """
        room = int(min(MOST_AT_HAND // 2 - len(self._pasts), self._budget.left(now)))
        if self.has_new:
            room = min(room, max(int(self._earn()), _FEW if is_free else 0))
        has_woken, batch = False, self._database.batch()
        while room > 0 and self.alarms.first is not None and self.alarms.first <= now:
            for key in self.alarms.ring(now, min(-(-room // MOST_OF_A_HOST), _WOKEN)):
                host = self.hosts.find(key)
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

    def _wake(self, batch: WriteBatch, host: Host, now: float, room: int) -> None:
        host.is_awake, host.next_due = True, _FIRST_TIME
        if room > 0:
            self._load(host, now, -1, min(room, MOST_OF_A_HOST))
        if not host.recalled:
            self._let_sleep(batch, host, now)
            self.hosts.save(batch, host)
        self._schedule.update(host)

    @property
    def new_pages(self) -> int:
        """Return how many new pages wait, if all links that came last are new."""
        in_flight = len(self._leases) - self.in_flight
        return self._inbox.size + sum(self.urls.counters.unfinished) - in_flight

    @property
    def has_new(self) -> bool:
        """Return whether new pages wait."""
        return self._inbox.size > 0 or any(self.urls.counters.unfinished)

    @property
    def handed_out(self) -> int:
        """Return how many pages were handed out."""
        return self._queue.popped + self.recalls

    def _earn(self) -> float:
        """Return how many revisits may follow the new pages that were handed out."""
        new, self._counted = self._queue.popped - self._counted, self._queue.popped
        self._credit = min(self._credit + new * self._earned, _CREDIT)
        return self._credit

    def compare(self) -> None:
        """Compare revisits with new pages: how many may follow one of these."""
        self._earn()
        share = self._walk.share
        self._earned = share / max(1.0 - share, 0.01)

    def take(self, host: Host, now: float) -> Taken:
        """Take the next page of a host from those at hand; the caller grants it and starts the clocks."""
        taken = self._queue.pop_recalled(host)
        host.revisiting += 1
        self.in_flight += 1
        self.recalls += 1
        if self.has_new:
            self._credit = self._earn() - 1.0
        if not host.recalled and 0 < host.next_due <= now:
            self._load_more(host, now, taken.number)
        return taken

    def _load_more(self, host: Host, now: float, without: int) -> None:
        """Bring more pages to hand of a host that is awake, if they may come: fewer while there are many."""
        left = self._budget.left(now)
        if left >= 1.0 and (self._earn() >= 1.0 or not self.has_new):
            room = max(1, min(MOST_OF_A_HOST, MOST_AT_HAND - len(self._pasts)))
            self._load(host, now, without, int(min(room, left)))

    def _load(self, host: Host, now: float, without: int, most: int) -> None:
        """Bring pages of a host to hand that are due."""
        numbers: list[int] = []
        start, host.next_due = host.next_due, 0
        for time, number in self.urls.due_pages.of(host, start):
            if number in host.in_flight or number == without:
                continue
            if time > now or len(numbers) == most:
                host.next_due = time
                break
            numbers.append(number)
        pages = self._read(host, numbers) if numbers else []
        self._budget.spend(len(pages))
        self._queue.recall(host, pages[::-1])

    def _read(self, host: Host, numbers: list[int]) -> list[Taken]:
        """Return pages of a host by their numbers, in this order."""
        ordered = sorted(numbers)
        keys = self.urls.trie.keys(ordered)
        pages = {}
        records = self.urls.trie.records(keys)
        words = self.urls.server_words.get_all(ordered)
        for key, data, said in zip(keys, records, words, strict=True):
            assert data is not None
            record = unpack(data)
            pages[record.number] = self._taken(host, to_url(key), record, said)
        return [pages[number] for number in numbers]

    def _taken(self, host: Host, url: str, record: Record, said: Said) -> Taken:
        assert record.past is not None
        self._pasts[record.number] = record.past, said
        visit = Visit(
            float(record.past.last),
            said.etag,
            said.last_modified,
            said.misses,
            float(said.since),
            record.past.triples,
        )
        return Taken(
            url,
            record.depth,
            record.attempts,
            record.number,
            host.id,
            record.hint,
            record.hops,
            visit,
        )

    def adopt(self, host: Host, url: str, record: Record) -> Taken:
        """Return a kept page that a worker has held since before a restart."""
        if not host.is_awake:
            host.is_awake, host.next_due = True, _FIRST_TIME
        host.revisiting += 1
        self.in_flight += 1
        return self._taken(host, url, record, self.urls.server_words.get_all([record.number])[0])

    # --- back ---

    def land(self, host: Host) -> None:
        """Take a kept page out of flight."""
        host.revisiting -= 1
        self.in_flight -= 1

    def give_back(self, batch: WriteBatch, host: Host, taken: Taken, now: float) -> None:
        """Put a page back unchanged: it is due still."""
        past, _ = self._pasts.pop(taken.number)
        self._budget.spend(-1)
        self._note_due(batch, host, past.due)
        self._settle(batch, host, now)

    def keep(
        self, batch: WriteBatch, host: Host, taken: Taken, hint: int, now: float, keep: Keep
    ) -> bytes:
        """Keep a page that was visited; return its key."""
        key, number = to_key(taken.url), taken.number
        before, words = self._pasts.pop(number, _UNKNOWN)
        self.visits += 1
        past: Fields
        if before is None and not keep.missed:
            _, weight, etag, last_modified, soonest, _ = keep
            attempts, said = 0, words
            better = self.quality(number) if self._ranks.urls else 1.0
            past, due = self.planner.first(key, now, weight, host.factor / better, soonest)
            if etag or last_modified or soonest:
                said = self._said(keep)
            self._weights.append((weight or 1.0) * better)
        else:
            past, said, attempts = self._plan(key, host, number, now, keep, before, words)
            due = past.due
        self.urls.keep(batch, host, key, taken, hint, attempts, past, due, before)
        if said is not words:
            self.urls.server_words.keep(batch, number, said, words)
        if host.is_awake or due < host.alarm or not host.alarm:
            self._note_due(batch, host, due)
            self._settle(batch, host, now, number, due)
        if self.visits % _COMPARED == 1:
            self.compare()
            if self.visits - self._saved >= _SAVED_AFTER:
                self.save(batch)
        return key

    def _said(self, keep: Keep) -> Said:
        """Return what a server has said of a page that it sent: a long bound is cut."""
        rules, bound = self.planner.rules, 0
        if keep.soonest > rules.shortest:
            bound = encode_coarsely(min(keep.soonest, max(rules.longest, rules.every)))
        return Said(0, 0, keep.etag, keep.last_modified, bound)

    def soonest(self, number: int) -> float:
        """Return within how many seconds the server of a page does not want to be asked for it again."""
        return self.urls.server_words.get_all([number])[0].soonest

    @property
    def weight_of_new(self) -> float:
        """Return the weight of new pages in the mean, to which the last ones are added now."""
        mean, count = self._weight, self._weighed
        for weight in self._weights:
            count += 1
            mean += (weight - mean) * (_NEWEST if count > _MANY else 1.0 / count)
        self._weights.clear()
        self._weight, self._weighed = mean, count
        return mean

    def _plan(
        self,
        key: bytes,
        host: Host,
        number: int,
        now: float,
        keep: Keep,
        before: Past | None,
        words: Said,
    ) -> tuple[Past, Said, int]:
        """Return the past of a page after another visit, what its server said, and its attempts."""
        planner = self.planner
        if keep.missed:
            past = before or planner.begin(now, keep.weight)
            said = words._replace(misses=words.misses + 1, since=words.since or int(now))
            return past.until(now + max(planner.rules.missed, keep.soonest)), said, 1
        assert before is not None
        # WIRE's cycles choose among all pages but those with a time of their own.
        own_time = int(planner.rules.policy != "wire")
        if not keep.is_answered:
            seconds = decode_interval(planner.interval(key, before, self.factor(host, number)))
            return before.until(now + seconds), words, own_time
        past = planner.visit(key, before, now, keep.changed, keep.weight)
        self.signals.learn(host, number, keep.changed)
        past = planner.plan(key, past, self.factor(host, number), keep.soonest)
        return past, self._said(keep), own_time * (keep.changed is None)

    def postpone(
        self, batch: WriteBatch, host: Host, taken: Taken, hint: int, now: float, after: float
    ) -> None:
        """Visit a page some seconds later, because this visit has failed."""
        before, _ = self._pasts.pop(taken.number)
        past = before.until(now + after)
        attempts, due = min(taken.attempts + 1, 255), past.due
        self.urls.keep(batch, host, to_key(taken.url), taken, hint, attempts, past, due, before)
        self._note_due(batch, host, due)
        self._settle(batch, host, now, taken.number, due)

    def end(self, batch: WriteBatch, host: Host, taken: Taken, now: float) -> None:
        """Forget the visits of a page that has ended for good; the caller writes its end."""
        before, _ = self._pasts.pop(taken.number)
        self.urls.due_pages.remove(batch, host, before.due, taken.number)
        self.urls.server_words.forget(batch, taken.number)
        self._settle(batch, host, now, taken.number)

    def _note_due(self, batch: WriteBatch, host: Host, due: int) -> None:
        """See that a host is awake when a page is due."""
        if host.is_awake:
            host.next_due = min(host.next_due or LAST_TIME, due)
        elif not host.alarm or due < host.alarm:
            self._set_alarm(batch, host, due)

    def _settle(
        self, batch: WriteBatch, host: Host, now: float, number: int = -1, due: int = 0
    ) -> None:
        """Give a host that is awake its next pages, or let it sleep until one is due.

        The page of the number has just ended: its due time, 0 if it has none, is not on disk yet.
        """
        if host.is_awake and not host.recalled:
            if 0 < host.next_due <= now:
                self._load_more(host, now, number)
                if due:
                    host.next_due = min(host.next_due or LAST_TIME, due)
            if not host.recalled and not host.revisiting:
                self._let_sleep(batch, host, now)

    def _let_sleep(self, batch: WriteBatch, host: Host, now: float) -> None:
        host.is_awake = False
        self._set_alarm(batch, host, max(host.next_due, int(now) + 1) if host.next_due else 0)

    def _set_alarm(self, batch: WriteBatch, host: Host, time: int) -> None:
        self.alarms.set(batch, host, time)
        if time:
            self.next_step = min(self.next_step, time)

    # --- known pages ---

    def keep_done(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, past: Past
    ) -> None:
        """Keep a page that had ended for good."""
        self.urls.keep_done(batch, host, key, record, past)
        self._note_due(batch, host, past.due)

    def move(self, batch: WriteBatch, host: Host, key: bytes, record: Record, better: Past) -> None:
        """Give a kept page that is not at hand another due time."""
        assert record.past is not None
        self.urls.due_pages.remove(batch, host, record.past.due, record.number)
        self.urls.due_pages.add(batch, host, better.due, record.number)
        self.urls.trie.update(batch, key, record._replace(past=better))
        self._note_due(batch, host, better.due)

    # --- what is learnt ---

    def save(self, batch: WriteBatch) -> None:
        """Add what was learnt to a batch, if there is any."""
        if self._saved < self.visits:
            self._saved = self.visits
            batch.put(_RATES, self.planner.rates.dump(), self._meta.handle)
            self.save_price(batch)

    def save_price(self, batch: WriteBatch) -> None:
        batch.put(_PRICE, repr(self.planner.price).encode(), self._meta.handle)
        batch.put(_WEIGHT, repr(self.weight_of_new).encode(), self._meta.handle)
