"""The hub pages of a crawl: those on which most URLs were first found, by topic if it has topics.

WebParF starts from hub pages of each topic; a later crawl takes them from an earlier one (section IV.A; row
P9).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from heapq import nlargest
from typing import TYPE_CHECKING

from rdfaspider.focus.topics import topic_of
from rdfaspider.focus.topics.names import NOTE, read_names
from rdfaspider.frontier.tables.trie import DONE, KEPT, Trie
from rdfaspider.urls.keys import to_url

if TYPE_CHECKING:
    from rdfaspider.frontier.tables.database import Database


def hubs_of(database: Database, most: int) -> dict[str, list[str]]:
    """Return up to `most` done pages by topic, the best hub first.

    Pages of no topic, and all pages of a crawl without topics, are under "".
    """
    found = _found_on_each(database)
    names = read_names(database.notes.get(NOTE.encode())) or [""]
    pages: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for key, record in Trie(database).subtree():
        if record.state in (DONE, KEPT) and (count := found[record.number]):
            topic = topic_of(record.hint)
            those = pages[topic if topic < len(names) else 0]
            those.append((count, key))
            if len(those) > 4 * most:
                those[:] = nlargest(most, those)
    return {
        names[topic]: [to_url(key) for _, key in nlargest(most, those)]
        for topic, those in sorted(pages.items())
    }


def _found_on_each(database: Database) -> Counter[int]:
    """Return how many URLs were first found on each page, by the page's number."""
    found: Counter[int] = Counter()
    for _, value in database.referrers.pairs():
        block = array("Q")
        block.frombytes(value)
        found.update(block)
    found.pop(0, None)  # found on no page
    return Counter({number - 1: count for number, count in found.items()})
