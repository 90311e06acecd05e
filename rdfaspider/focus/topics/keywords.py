"""Keywords in a text: words in any of their forms, by the stemmer of the text's language, and phrases."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from Stemmer import Stemmer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfaspider.focus.topics.file import Topic

_WORD = re.compile(r"\w+")


class Keywords:
    """The keywords of all topics, as texts of one language have them.

    Words of a language without a stemmer are compared as they are written.
    """

    def __init__(self, topics: Sequence[Topic], language: str) -> None:
        try:
            self._stem = Stemmer(language).stemWords
        except KeyError:
            self._stem = list
        self._topics: dict[tuple[str, ...], list[int]] = defaultdict(list)  # by phrase
        self._phrases: dict[str, list[tuple[str, ...]]] = defaultdict(list)  # by first word
        for number, topic in enumerate(topics):
            for phrase in {self._words(keyword) for keyword in topic.keywords}:
                self._topics[phrase].append(number)
        for phrase in self._topics:
            self._phrases[phrase[0]].append(phrase)

    def _words(self, text: str) -> tuple[str, ...]:
        return tuple(self._stem(_WORD.findall(text.casefold())))

    def find(self, text: str) -> Iterator[tuple[list[int], int]]:
        """Yield the topics of each keyword in a text, and how often it occurs."""
        words = self._words(text)
        if self._phrases.keys().isdisjoint(words):  # as for most links
            return
        found = Counter(
            phrase
            for place, word in enumerate(words)
            for phrase in self._phrases.get(word, ())
            if words[place : place + len(phrase)] == phrase
        )
        for phrase, count in found.items():
            yield self._topics[phrase], count
