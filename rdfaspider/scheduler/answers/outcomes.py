"""Ends URLs in the frontier according to their pages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rdfaspider import clock
from rdfaspider.frontier import Keep, is_page
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.frontier.moves import Moves
from rdfaspider.frontier.politeness import Experience
from rdfaspider.pages.own import NOTE as COLUMNS
from rdfaspider.pages.own import OwnColumns, kinds_in
from rdfaspider.pages.row import Row, pack, row_of
from rdfaspider.scheduler.answers.guessing import NOTE, Guessing
from rdfaspider.scheduler.answers.keeping import keep_of, signals_of
from rdfaspider.scheduler.answers.validators import Validators
from rdfaspider.signals import scope_grown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Ending, Frontier, State, Taken
    from rdfaspider.items import Page
    from rdfaspider.scheduler.answers.advice import Advice
    from rdfaspider.scheduler.memory import Memory


class Outcomes:
    """Reports the outcome of each page. The spider's `follow(page)` chooses the links to take in.

    `pages` counts answers, except for robots.txt, redirects and sitemaps.
    """

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        advice: Advice,
        memory: Memory,
        *,
        retries: int,
        retry_delay: float,
    ) -> None:
        self._crawler = crawler
        self._frontier = frontier
        self._advice = advice
        self._memory = memory
        self.retries = retries
        self.retry_delay = retry_delay
        self.pages = 0
        self._counts: Counter[str] = Counter()
        self._guessing: Guessing | None = None
        self._spider: Any = None
        self._keeps_rows = False
        self._columns = OwnColumns(())
        self._revisits = False
        self.validators = Validators(frontier)

    def open(self, spider: Any) -> None:
        self._spider = spider
        self._keeps_rows = self._crawler.settings.getbool("PAGES")
        if columns := self._crawler.settings.getlist("PAGES_COLUMNS"):
            self._columns = OwnColumns(columns)
            kinds = kinds_in([self._frontier.note(COLUMNS)]) | self._columns.kinds
            self._frontier.set_note(COLUMNS, "\n".join(map(" ".join, kinds.items())).encode())
        self._revisits = self._crawler.settings.getbool("FRONTIER_REVISIT")
        if budget := self._crawler.settings.getint("FRONTIER_GUESSES"):
            self._guessing = Guessing(budget, self._frontier.note(NOTE))

    def close(self) -> None:
        """Store what was learnt."""
        if self._guessing is not None:
            self._frontier.set_note(NOTE, self._guessing.dump())
        if self._spider is not None and self._spider.has_learnt:
            self._memory.save(self._spider)

    def acknowledge(self, taken: Taken, page: Page) -> None:
        """End a URL, or put it back, according to its page."""
        now = clock.now()
        self.pages += is_page(page.status, page.reason)
        if page.strikes:
            # Not as a failure: the answer to this very fetch has cleared the host's failures.
            self._frontier.report(taken.host, now, Experience(strikes=page.strikes))
        if page.outcome == "postponed":
            self._frontier.release(taken, now)
        elif page.transient and taken.attempts < self.retries:
            after = self.retry_delay * 2**taken.attempts
            self._counts[f"retried/{page.reason}"] += 1
            self._frontier.retry(taken, now, after, reason=page.reason, status=page.status)
        else:
            self._count(taken, page)
            self._finish(taken, page, page.outcome, now)

    def _count(self, taken: Taken, page: Page) -> None:
        """Count a page before it ends: a worker sends the end and the count in one message."""
        self._counts[f"{page.outcome}/{page.reason}"] += 1
        if not self._revisits:
            return
        if page.replaces:
            self._counts["cleared/moved"] += len(page.replaces)
        if taken.visit is not None:
            if page.cleared and page.changed is not False:
                self._counts[f"cleared/{page.cleared}"] += 1
            self._counts[f"revisited/{_found(page)}"] += 1

    def _finish(self, taken: Taken, page: Page, state: State, now: float) -> None:
        links, places = self._spider.follow(page)
        is_new = taken.visit is None
        guesses = self._guesses(page, taken) if self._guessing is not None and is_new else []
        is_redirect = page.reason == "redirect"
        self._keep_scope(page, links if is_redirect else [])
        gain = self._advice.gain(page, taken.hint)
        contexts = self._advice.contexts(page, links, places, taken.hint)
        if contexts:
            contexts += [0] * len(guesses)
        said: Ending = {
            "depth_step": 0 if is_redirect else 1,
            "hops": taken.hops + 1 if is_redirect else 0,
            "gain": gain,
            "contexts": contexts,
            "reason": page.reason,
            "status": page.status,
            # What is known of a page stays if a visit brought nothing.
            "row": self._row(page) if is_new or page.is_read or page.cleared else b"",
        }
        if page.beside is not None:
            said["beside"] = page.beside
            if guesses:
                page.beside["unlinked"] = len(guesses)
        if self._revisits and (keep := keep_of(page, taken.visit)) is not None:
            said["keep"] = keep
        self._frontier.finish(taken, state, now, links + guesses, **said)
        if self._revisits:
            self._learn(taken, page)

    def _learn(self, taken: Taken, page: Page) -> None:
        """Take in what a visit says of other pages and of its host."""
        if page.replaces:
            Moves(self._frontier).settle(page.url, page.replaces)
        if taken.visit is None:
            return
        if signals := signals_of(page, taken.visit.time):
            self._frontier.expect(signals)
            self._counts[f"signals/{page.reason}"] += len(signals)
        if found := self.validators.learn(taken, page):
            self._counts[f"validators/{found}"] += 1

    def _row(self, page: Page) -> bytes:
        if not self._keeps_rows:
            return b""
        return row_of(page, self._columns.values(page) if page.is_read else None)

    def _bare_row(self, reason: str, now: float) -> bytes:
        """Return the row of a URL without a page."""
        return pack(Row(reason=reason, fetched=int(now))) if self._keeps_rows else b""

    def _keep_scope(self, page: Page, targets: list[str]) -> None:
        """Store the growth of the scope, including the target of a seed that is a redirect."""
        if self._frontier.is_shared and page.depth == 0:
            for link in targets:  # the worker that fetches it does not know how it was found
                self._spider.scope.grow(link)
        if self._spider.has_learnt and self._frontier.is_shared:
            self._memory.save(self._spider)
        if self._spider.scope.grown:
            self._memory.keep(self._spider)
            self._crawler.signals.send_catch_log(scope_grown, url=page.url)

    def _guesses(self, page: Page, taken: Taken) -> list[str]:
        assert self._guessing is not None
        is_new = self._guessing.answer(page)
        if not is_new or taken.depth >= self._frontier.limits.depth:
            return []  # a copy, no page, or they would be too deep
        may_follow, knows = self._spider.may_follow, self._frontier.knows
        return self._guessing.guess(page, lambda url: may_follow(url) and not knows(url))

    def move(self, taken: Taken, url: str) -> None:
        """End a URL that a middleware has redirected to another."""
        now, hops = clock.now(), taken.hops + 1
        if hops > MAX_REDIRECTS:
            self._end(taken, "failed", "redirects")
            return
        said: Ending = {"depth_step": 0, "hops": hops}
        if self._revisits and taken.visit is not None:
            said["keep"] = Keep()
        else:
            said["row"] = self._bare_row("redirect", now)
        self._frontier.finish(taken, "done", now, [url], **said)

    def fail(self, taken: Taken, reason: str) -> None:
        """End a URL whose page was lost in the pipelines."""
        self._end(taken, "failed", reason)

    def deny(self, taken: Taken, reason: str) -> None:
        """End a URL that must not be fetched."""
        self._end(taken, "denied", reason)

    def _end(self, taken: Taken, state: State, reason: str) -> None:
        now = clock.now()
        said: Ending = {"reason": reason}
        if self._revisits and taken.visit is not None and state == "failed":
            said["keep"] = Keep()  # another visit may bring it
        else:
            said["row"] = self._bare_row(reason, now)
        self._counts[f"{state}/{reason}"] += 1
        self._frontier.finish(taken, state, now, **said)

    def stats(self) -> dict[str, int]:
        """Return counts by the names of stats."""
        stats = {f"frontier/{outcome}": count for outcome, count in self._counts.items()}
        if self._guessing is not None:
            stats["frontier/guesses"] = self._guessing.made
            stats["frontier/guesses/hits"] = self._guessing.hits
        return stats


def _found(page: Page) -> str:
    """Return what a revisit has found, as the label of a counter."""
    if page.reason == "unchanged":
        return "304"
    if page.is_read:
        return "changed" if page.changed else "unchanged"
    if page.missed:
        return "missed"
    if page.outcome == "denied":
        return "stale"
    return page.outcome
