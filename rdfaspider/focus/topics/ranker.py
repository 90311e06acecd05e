"""The ranker: where a URL stands in the pool of its topic (WebParF, section IV.A.2 and figure 5; row P2).

What is known of a URL goes into its hint, 24 bits:

    requests (3)   links (5)   topic (8)   score (8)

Requests counts the requests for it, up to seven. Links is the number of links to it as a power of two
(Morris's counter), so that most links change nothing on disk. Topic and score are those of the best of
these links and, once the page was read, its own. The hint of a new link has topic and score only.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_TOPIC, _LINKS, _REQUESTS = 8, 16, 21
_MOST_DOUBLINGS, _MOST_REQUESTS = 31, 7
_JUDGED = 0xFFFF  # topic and score
SURE = 255  # the score of a page that the user named for its topic
_HALVED = [2.0**-times for times in range(_MOST_DOUBLINGS + 1)]


def hint_of(topic: int, score: int) -> int:
    """Return the hint of a URL that was found once."""
    return topic << _TOPIC | score


def topic_of(hint: int) -> int:
    return hint >> _TOPIC & 255


def score_of(hint: int) -> int:
    return hint & 255


def links_of(hint: int) -> int:
    """Return about how many links to a URL were found."""
    return 1 << (hint >> _LINKS & _MOST_DOUBLINGS)


def requests_of(hint: int) -> int:
    return hint >> _REQUESTS & _MOST_REQUESTS


def merge(old: int, new: int, chance: Random) -> int:
    """Return the hint of a URL that was found again: the topic with the better score, and the links of
    both.

    The larger power of two is raised with the probability that makes the mean their sum.
    """
    # This runs for each link, so it calls nothing else.
    best = (new if new & 255 > old & 255 else old) & _JUDGED
    more, fewer = old >> _LINKS & _MOST_DOUBLINGS, new >> _LINKS & _MOST_DOUBLINGS
    if more < fewer:
        more, fewer = fewer, more
    if more < _MOST_DOUBLINGS and chance.random() < _HALVED[more - fewer]:
        more += 1
    requests = max(old, new) >> _REQUESTS
    return requests << _REQUESTS | more << _LINKS | best


def requested(hint: int) -> int:
    """Return the hint of a URL after one more request for it."""
    return hint + (1 << _REQUESTS) if requests_of(hint) < _MOST_REQUESTS else hint


def judgement(topic: int, score: int) -> float:
    """Return the gain that carries the topic of a page to the frontier; it is never 0."""
    return float(1 << _LINKS | hint_of(topic, score))


def judged(hint: int, gain: float) -> int:
    """Return the hint of a URL whose page was read, with the topic from its `judgement`."""
    return hint & ~_JUDGED | int(gain) & _JUDGED if gain else hint


def with_links(hint: int, doublings: int) -> int:
    """Return a hint with another number of links, as a power of two."""
    doublings = min(max(doublings, 0), _MOST_DOUBLINGS)
    return hint & ~(_MOST_DOUBLINGS << _LINKS) | doublings << _LINKS


def standing(score: int, links: int = 1, requests: int = 0) -> int:
    """Return the rank of a URL in its pool, from 0 on: its score, plus 16 for each doubling of the links to
    it, minus 32 for each request for it."""
    return max(round(score + 16 * log2(max(links, 1)) - 32 * requests), 0)
