"""Finds the topics of pages and links, by keywords and, for pages, by types.

Each sign counts: a keyword in the text, more in the title, and most a type or a vocabulary. A keyword is
found in all its forms (keywords.py); one of several topics counts for each in part. Signs of a sub-topic
count for its parent too; the best topic is found from the top down, so a page about bread is first about
food.
"""

from __future__ import annotations

from collections import defaultdict
from math import log2
from typing import TYPE_CHECKING

from rdfaspider.focus.topics.file import without_scheme
from rdfaspider.focus.topics.keywords import Keywords
from rdfaspider.focus.topics.ranker import SURE
from rdfaspider.pages.language import primary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rdfaspider.focus.topics.file import Topic

_LONGEST_TEXT = 50_000  # characters that are read of a page
_TITLE, _ANCHOR, _TYPE, _VOCABULARY = 3.0, 3.0, 5.0, 2.0
_MOST_OF_A_WORD = 3.0  # however often it occurs
_INHERITED = 0.5  # of its page's score that a link inherits
_MOST_LANGUAGES = 64  # that are kept; pages may declare anything
_USUAL_LANGUAGE = "en"  # of a text that does not say
_BESIDE = 0.5  # of the signs for its best topic that make a page about another one too


class Classifier:
    """Classifies pages and links."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = topics
        self._children: dict[int, list[int]] = defaultdict(list)
        self._keywords: dict[str, Keywords] = {}  # by tag of a language
        for number, topic in enumerate(topics[1:], start=1):
            self._children[topic.parent].append(number)

    def page(
        self, text: str, title: str = "", types: Iterable[str] = (), language: str = ""
    ) -> tuple[int, int]:
        """Return the topic of a page, 0 if none, and a score from 0 to 255."""
        return next(iter(self.topics(text, title, types, language)), (0, 0))

    def topics(
        self, text: str, title: str = "", types: Iterable[str] = (), language: str = ""
    ) -> list[tuple[int, int]]:
        """Return all topics of a page, the best first, with their scores.

        There is one of each topic with its sub-topics. `language` is a tag, "" if it is unknown.
        """
        signs: dict[int, float] = defaultdict(float)
        keywords = self._keywords_in(language)
        _read(signs, keywords, text, 1.0)
        _read(signs, keywords, title, _TITLE)
        for iri in set(types):
            self._note_type(signs, without_scheme(iri))
        totals = self._totals(signs)
        roots = [root for root in self._children[0] if totals.get(root, 0.0) > 0.0]
        roots.sort(key=lambda root: -totals[root])
        return [
            (self._descend(totals, root), _score(totals[root]))
            for root in roots
            if totals[root] >= _BESIDE * totals[roots[0]]
        ]

    def link(
        self, page: tuple[int, int], url: str, anchor: str = "", language: str = ""
    ) -> tuple[int, int]:
        """Predict the topic of a link's target from its page, its text and its URL."""
        signs: dict[int, float] = defaultdict(float)
        topic, score = page
        if topic:
            signs[topic] += _INHERITED * _strength(score)
        keywords = self._keywords_in(language)
        _read(signs, keywords, anchor, _ANCHOR)
        _read(signs, keywords, url.partition("://")[2].replace("_", " "), 1.0)
        return self._decide(signs)

    def _keywords_in(self, language: str) -> Keywords:
        keywords = self._keywords.get(language)
        if keywords is None:
            if len(self._keywords) == _MOST_LANGUAGES:
                self._keywords.clear()
            keywords = Keywords(self._topics, primary(language) or _USUAL_LANGUAGE)
            self._keywords[language] = keywords
        return keywords

    def _note_type(self, signs: dict[int, float], iri: str) -> None:
        for number, topic in enumerate(self._topics):
            if iri in topic.types:
                signs[number] += _TYPE
            elif iri.startswith(topic.vocabularies):
                signs[number] += _VOCABULARY

    def _decide(self, signs: Mapping[int, float]) -> tuple[int, int]:
        """Return the topic with the most signs, 0 if none, and its score."""
        if not signs:  # as for most links
            return 0, 0
        totals = self._totals(signs)
        root = max(self._children[0], key=lambda root: totals.get(root, 0.0))
        return self._descend(totals, root), _score(totals[root])

    def _totals(self, signs: Mapping[int, float]) -> dict[int, float]:
        """Return the signs of each topic, including its sub-topics."""
        totals = dict(signs)
        for number in range(len(self._topics) - 1, 0, -1):  # sub-topics come after their parent
            parent = self._topics[number].parent
            if parent and number in totals:
                totals[parent] = totals.get(parent, 0.0) + totals[number]
        return totals

    def _descend(self, totals: Mapping[int, float], topic: int) -> int:
        """Return the sub-topic of a page of a topic, or the topic itself."""
        while True:
            least = totals[topic] / 3  # of a topic's signs must be those of its sub-topic
            likely = [child for child in self._children[topic] if totals.get(child, 0.0) > least]
            if not likely:
                return topic
            topic = max(likely, key=lambda child: totals[child])


def _read(signs: dict[int, float], keywords: Keywords, text: str, weight: float) -> None:
    for topics, count in keywords.find(text[:_LONGEST_TEXT]):
        for topic in topics:
            signs[topic] += weight * min(count, _MOST_OF_A_WORD) / len(topics)


def _score(strength: float) -> int:
    """Return a sum of signs as a byte: 32 for each doubling; 127 and more is beyond doubt."""
    return min(round(32 * log2(1.0 + strength)), SURE - 1)


def _strength(score: int) -> float:
    return float(2 ** (score / 32) - 1.0)
