"""Pages that are visited again: kept with a due time, recalled when it comes, planned anew at the end.

A kept page has a due time (tables/visits.py). Then its host is woken, and the page is handed out (waking.py).
While new pages wait, only a share of the fetches are revisits (share.py).

A page of twice the quality is worth twice the triples, which is the same as half the price. Quality is
PageRank within bounds (focus/visits/value.py). It is read when a visit is planned, and not stored.

In memory are only the pages at hand (athand.py), so after a crash all that were in flight are due still.
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING

from rdfaspider.focus.visits.planner import Past, Planner
from rdfaspider.focus.visits.rates import FIRST_RATE_OF_NEW, Rates
from rdfaspider.focus.visits.scale import decode_interval, encode_coarsely
from rdfaspider.focus.visits.value import quality
from rdfaspider.frontier.engine.revisits.athand import AtHand
from rdfaspider.frontier.engine.revisits.budget import Budget
from rdfaspider.frontier.engine.revisits.manager import Manager
from rdfaspider.frontier.engine.revisits.repricing import Repricing
from rdfaspider.frontier.engine.revisits.share import Share
from rdfaspider.frontier.engine.revisits.signals import Signals
from rdfaspider.frontier.engine.revisits.waking import Waking
from rdfaspider.frontier.tables.trie import Record, unpack
from rdfaspider.frontier.tables.visits import Said
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Fields, RevisitRules
    from rdfaspider.frontier import Keep, Taken
    from rdfaspider.frontier.engine.revisits.walk import Walk
    from rdfaspider.frontier.engine.sieve import Sieve
    from rdfaspider.frontier.engine.urls import Urls
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.schedule.leases import Leases
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.schedule.schedule import Schedule
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.ranks import Ranks

# Visits after which what was learnt is written; a kill loses the rest.
_SAVED_AFTER = 1_000
# Visits after which new pages are compared with revisits again.
_COMPARED = 64

_PRICE, _RATES, _RATES_OF_NEW = b"price", b"rates", b"rates of new pages"


class Revisits:
    """Keeps, recalls and plans; the caller writes the batches, and the hosts with them."""

    def __init__(
        self,
        database: Database,
        rules: RevisitRules,
        urls: Urls,
        schedule: Schedule,
        queue: Queue,
        sieve: Sieve,
        leases: Leases,
        ranks: Ranks,
    ) -> None:
        self._meta = database.meta
        self.urls = urls
        self.hosts = schedule.hosts
        self._queue = queue
        self._inbox = sieve.inbox
        self._leases = leases
        self._ranks = ranks
        stored, of_new = self._meta.get(_RATES), self._meta.get(_RATES_OF_NEW)
        self.planner = Planner(
            rules,
            Rates.load(stored) if stored else None,
            float(self._meta.get(_PRICE) or b"0"),
            Rates.load(of_new, first=FIRST_RATE_OF_NEW) if of_new else None,
        )
        self._at_hand = AtHand(urls)
        self._budget = Budget(rules, urls.counters)
        self._share = Share(self._meta, queue, sieve.inbox, urls.counters)
        self._waking = Waking(
            database,
            urls.due_pages,
            schedule,
            queue,
            self._at_hand,
            self._budget,
            self._share,
            rules.until or inf,
        )
        self.in_flight = 0
        # Pages kept since the start, and kept ones handed out.
        self.visits = self.recalls = 0
        self._saved = 0  # of these visits
        self._walk: Walk = (Manager if rules.policy == "wire" else Repricing)(database, self)
        self.began = inf  # since when there has been nothing to do for `step`
        self.compare()
        self.signals = Signals(database, self)

    def is_at_hand(self, number: int) -> bool:
        return number in self._at_hand

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
        waking = self._waking
        if waking.next_time <= now:
            waking.recall(now, is_free=False)
        self.began, waking.next_step = walk.began, min(walk.next, waking.next_time)

    @property
    def next_step(self) -> float:
        """Return from when on there may be something to do for `step`."""
        return self._waking.next_step

    @property
    def next_time(self) -> float | None:
        """Return when a host is to be woken, or a walk must go on; None if there is nothing."""
        # Where there is no room at hand, one of those there must end first.
        time = self._waking.next_time if self._waking.room > 0 else inf
        if self._walk.alarm is not None:
            time = min(time, self._walk.alarm)
        return time if time < inf else None

    def recall(self, now: float, *, is_free: bool) -> bool:
        """Wake hosts whose pages are due; return whether any was woken (`Waking.recall`)."""
        return self._waking.recall(now, is_free=is_free)

    @property
    def new_pages(self) -> int:
        """Return how many new pages wait, if all links that came last are new."""
        in_flight = len(self._leases) - self.in_flight
        return self._inbox.size + sum(self.urls.counters.unfinished) - in_flight

    @property
    def has_new(self) -> bool:
        """Return whether new pages wait."""
        return self._share.has_new

    @property
    def handed_out(self) -> int:
        """Return how many pages were handed out."""
        return self._queue.popped + self.recalls

    @property
    def weight_of_new(self) -> float:
        """Return the weight of new pages in the mean."""
        return self._share.weight_of_new

    def compare(self) -> None:
        """Compare revisits with new pages: how many may follow one of these."""
        self.planner.weight_of_new = self._share.weight_of_new
        self._share.compare(self._walk)

    def take(self, host: Host, now: float) -> Taken:
        """Take the next page of a host from those at hand; the caller grants it and starts the clocks."""
        taken = self._queue.pop_recalled(host)
        host.revisiting += 1
        self.in_flight += 1
        self.recalls += 1
        if self.has_new:
            self._share.spend()
        if not host.recalled and 0 < host.next_due <= now:
            self._waking.load_more(host, now, taken.number)
        return taken

    def adopt(self, host: Host, url: str, record: Record) -> Taken:
        """Return a kept page that a worker has held since before a restart."""
        if not host.is_awake:
            self._waking.note_awake(host)
        host.revisiting += 1
        self.in_flight += 1
        self.recalls += 1  # it may have been counted as one that is to be handed out
        return self._at_hand.adopt(host, url, record)

    # --- back ---

    def land(self, host: Host) -> None:
        """Take a kept page out of flight."""
        host.revisiting -= 1
        self.in_flight -= 1

    def give_back(self, batch: WriteBatch, host: Host, taken: Taken, now: float) -> None:
        """Put a page back unchanged: it is due still."""
        past, _ = self._at_hand.pop(taken.number)
        self._budget.spend(-1)
        self._waking.note_due(batch, host, past.due)
        self._waking.settle(batch, host, now)

    def keep(
        self, batch: WriteBatch, host: Host, taken: Taken, hint: int, now: float, keep: Keep
    ) -> bytes:
        """Keep a page that was visited; return its key."""
        key, number = to_key(taken.url), taken.number
        before, words = self._at_hand.end(number)
        self.visits += 1
        past: Fields
        if before is None and not keep.missed:
            _, weight, etag, last_modified, soonest, _ = keep
            attempts, said = 0, words
            better = self.quality(number) if self._ranks.urls else 1.0
            self._share.weights.append((weight or 1.0) * better)
            if not self.planner.price:
                self.planner.weight_of_new = self._share.weight_of_new
            past, due = self.planner.first(key, now, weight, host.factor / better, soonest)
            if etag or last_modified or soonest:
                said = self._said(keep)
        else:
            past, said, attempts = self._plan(key, host, number, now, keep, before, words)
            due = past.due
        self.urls.keep(batch, host, key, taken, hint, attempts, past, due, before)
        if said is not words:
            self.urls.server_words.keep(batch, number, said, words)
        if host.is_awake or due < host.alarm or not host.alarm:
            self._waking.note_due(batch, host, due)
            self._waking.settle(batch, host, now, number, due)
        if self.visits % _COMPARED == 1:
            self.compare()
            self._walk.save(batch)
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
        rules, is_wire = planner.rules, planner.rules.policy == "wire"
        if not keep.is_answered:
            seconds = decode_interval(planner.interval(key, before, self.factor(host, number)))
            if is_wire and not rules.every:  # the next cycle would choose it again at once
                seconds = ceil(max(rules.mean, rules.shortest))
            return before.until(now + seconds), words, 1
        past = planner.visit(key, before, now, keep.changed, keep.weight)
        self.signals.learn(host, number, keep.changed)
        past = planner.plan(key, past, self.factor(host, number), keep.soonest)
        return past, self._said(keep), int(not is_wire and keep.changed is None)

    def learn_new(self, batch: WriteBatch, page: int, number: int, weight: float) -> None:
        """Count a new page, by its number, for the kept page that led to it, which may be due sooner now."""
        planner, at_hand = self.planner, self._at_hand
        if planner.rules.every or planner.rules.policy == "wire":
            return
        planner.weight_of_new = self._share.weight_of_new
        weight *= self.quality(number)
        key = self.urls.trie.keys([page])[0]
        if page in at_hand:
            at_hand.learn(page, planner.find(key, at_hand.past(page), number, weight))
            return
        data = self.urls.trie.records([key])[0]
        assert data is not None
        record = unpack(data)
        host = self.hosts.peek(host_of(key))
        if record.past is None or host is None:
            return
        past = planner.find(key, record.past, number, weight)
        better = planner.plan(key, past, self.factor(host, page), self.soonest(page))
        # One that was missed, or whose visit failed, has a time of its own.
        is_sooner = not record.attempts and better.due < past.due
        self.move(batch, host, key, record, better if is_sooner else past)
        self.hosts.save(batch, host)

    def postpone(
        self, batch: WriteBatch, host: Host, taken: Taken, hint: int, now: float, after: float
    ) -> None:
        """Visit a page some seconds later, because this visit has failed."""
        before, _ = self._at_hand.pop(taken.number)
        # In a run that ends, the page stays due: the back-off of its host decides when it is tried again.
        past = before if self.planner.rules.until else before.until(now + after)
        attempts, due = min(taken.attempts + 1, 255), past.due
        self.urls.keep(batch, host, to_key(taken.url), taken, hint, attempts, past, due, before)
        self._waking.note_due(batch, host, due)
        self._waking.settle(batch, host, now, taken.number, due)

    def end(self, batch: WriteBatch, host: Host, taken: Taken, now: float) -> None:
        """Forget the visits of a page that has ended for good; the caller writes its end."""
        before, _ = self._at_hand.pop(taken.number)
        self.urls.due_pages.remove(batch, host, before.due, taken.number)
        self.urls.server_words.forget(batch, taken.number)
        self._waking.settle(batch, host, now, taken.number)

    # --- known pages ---

    def retire(self, past: Past, now: float) -> None:
        """Note that a page which is not at hand has ended: if it is due, it is not handed out any more."""
        self.recalls += past.due <= now

    def keep_done(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, past: Past
    ) -> None:
        """Keep a page that had ended for good."""
        self.urls.keep_done(batch, host, key, record, past)
        self._waking.note_due(batch, host, past.due)

    def move(self, batch: WriteBatch, host: Host, key: bytes, record: Record, better: Past) -> None:
        """Give a kept page that is not at hand another due time."""
        assert record.past is not None
        self.urls.due_pages.remove(batch, host, record.past.due, record.number)
        self.urls.due_pages.add(batch, host, better.due, record.number)
        self.urls.trie.update(batch, key, record._replace(past=better))
        self._waking.note_due(batch, host, better.due)

    # --- what is learnt ---

    def save(self, batch: WriteBatch) -> None:
        """Add what was learnt to a batch, if there is any."""
        if self._saved < self.visits:
            self._saved = self.visits
            batch.put(_RATES, self.planner.rates.dump(), self._meta.handle)
            batch.put(_RATES_OF_NEW, self.planner.rates_of_new.dump(), self._meta.handle)
            self.save_price(batch)
        self._walk.save(batch)

    def save_price(self, batch: WriteBatch) -> None:
        batch.put(_PRICE, repr(self.planner.price).encode(), self._meta.handle)
        self._share.save(batch)
