"""Pages that are visited again: what every frontier guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier import Keep

if TYPE_CHECKING:
    from tests.frontier.conftest import Opener


def test_without_revisits_a_page_ends_for_good(opener: Opener) -> None:
    with opener(delay=0.0) as frontier:
        frontier.put(["http://a.test/"])
        taken = frontier.take(0.0)
        assert taken is not None and taken.visit is None
        frontier.finish(taken, "done", 0.0, keep=Keep(weight=3, etag='"a"', soonest=1.0))
        frontier.expect([("http://a.test/", 5.0), ("http://unknown.test/", 5.0)])
        assert frontier.wait(10.0) is None
        counts = frontier.counts()
        assert (counts.done, counts.kept, counts.seen) == (1, 0, 1)
