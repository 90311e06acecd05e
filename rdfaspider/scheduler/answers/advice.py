"""What a page was worth and what its links promise, for the orders that use it.

The frontier sees URLs and numbers; this module looks at pages. `gain` and `contexts` go with `finish`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.focus.contexts import context_of, richness
from rdfaspider.focus.harvest import section_of
from rdfaspider.focus.objectives import objective
from rdfaspider.focus.topics import Classifier, hint_of, read_topics, topic_of
from rdfaspider.focus.topics.names import keep_names
from rdfaspider.focus.topics.ranker import SURE, judgement, score_of
from rdfaspider.frontier.orders import order_class
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyoxigraph import Quad

    from rdfaspider.focus.objectives import Objective
    from rdfaspider.focus.topics import Topic
    from rdfaspider.frontier import Frontier
    from rdfaspider.items import Page


class Advice:
    """Looks at pages for an order; this one is for orders that use the URL alone."""

    def begin(self, frontier: Frontier) -> None:
        """Store with the frontier what must not change; ValueError with a sentence if it has."""

    def gain(self, page: Page, hint: int) -> float:
        """Return what a page was worth, in the units of the order; `hint` is what was expected of it."""
        return 0.0

    def contexts(
        self, page: Page, links: Sequence[str], places: Sequence[int], hint: int
    ) -> list[int]:
        """Return a number for each link to follow; `places` are their indexes among the page's links.

        It is called after the gain of the same page.
        """
        return []

    def contexts_of_seeds(self, urls: Sequence[str], topics: Mapping[str, str]) -> list[int]:
        """Return a number for each seed; `topics` names the topics of some of them."""
        return []


class Novelty:
    """Counts the statements of a page that no earlier page had, as far as is remembered.

    Invariant: the hashes of the last `most` to 2 * `most` statements are kept, in two generations.
    """

    def __init__(self, most: int = 250_000) -> None:
        self._most = most
        self._young: set[int] = set()
        self._old: set[int] = set()

    def count(self, quads: Iterable[Quad]) -> int:
        # Blank nodes have labels of their page's own, so what is said of them is new each time.
        hashes = {hash((quad.subject, quad.predicate, quad.object)) for quad in quads}
        new = hashes - self._young - self._old
        self._young |= hashes
        if len(self._young) > self._most:
            self._old, self._young = self._young, set()
        return len(new)


class HarvestAdvice(Advice):
    """The gain by the objective, and the context of each link: from where to where, with which words."""

    def __init__(self, wanted: Objective) -> None:
        self._objective = wanted
        self._novelty = Novelty()
        self._pages, self._sum, self._last = 0, 0.0, 0.0  # of pages with gain, and of the last page

    def gain(self, page: Page, hint: int) -> float:
        new = self._novelty.count(page.quads) if self._objective.kind == "new" else None
        self._last = self._objective.gain(page.quads, new)
        if self._last > 0:
            self._pages += 1
            self._sum += self._last
        return self._last

    def contexts(
        self, page: Page, links: Sequence[str], places: Sequence[int], hint: int
    ) -> list[int]:
        usual = self._sum / self._pages if self._pages else 1.0
        rich = richness(self._last, usual)
        source = section_of(to_key(page.url))
        relations, texts = page.relations, page.texts
        if len(texts) < len(page.links):  # a redirect, or a list without words
            relations = texts = [""] * len(page.links)
        return [
            context_of(source, section_of(to_key(link)), rich, relations[place], texts[place])
            for link, place in zip(links, places, strict=True)
        ]


class TopicsAdvice(Advice):
    """The topic of each page that was read, and the expected topic of each link.

    A hub has little content of its own. So a page without a topic keeps the expected one if it has links,
    and one that was named as a seed of a topic keeps that one.
    """

    def __init__(self, topics: list[Topic]) -> None:
        self._topics = topics
        self._classifier = Classifier(topics)

    def begin(self, frontier: Frontier) -> None:
        keep_names(frontier, self._topics)

    def gain(self, page: Page, hint: int) -> float:
        return 0.0 if page.topic is None else judgement(*_kept_topic(page, hint))

    def contexts(
        self, page: Page, links: Sequence[str], places: Sequence[int], hint: int
    ) -> list[int]:
        own = _kept_topic(page, hint)
        if page.reason == "redirect":
            return [hint_of(*own)] * len(links)
        texts = page.texts if len(page.texts) == len(page.links) else [""] * len(page.links)
        judged = (
            self._classifier.link(own, link, texts[place], page.text_language)
            for link, place in zip(links, places, strict=True)
        )
        return [hint_of(topic, score) for topic, score in judged]

    def contexts_of_seeds(self, urls: Sequence[str], topics: Mapping[str, str]) -> list[int]:
        numbers = {topic.name: number for number, topic in enumerate(self._topics)}
        known = (numbers.get(topics.get(url, "")) for url in urls)
        return [
            hint_of(number, SURE) if number else hint_of(*self._classifier.link((0, 0), url))
            for url, number in zip(urls, known, strict=True)
        ]


def _kept_topic(page: Page, hint: int) -> tuple[int, int]:
    """Return the topic and score that stay with a page and that its links inherit."""
    expected = topic_of(hint), score_of(hint)
    own = page.topic
    if own is None or expected[1] == SURE or (page.links and not own[0]):
        return expected
    return own


def advice_for(order: str, objective_: str, topics: str) -> Advice:
    """Return the advice that an order needs; ValueError with a sentence if a setting is wrong."""
    kind = order_class(order).advice
    if kind == "harvest":
        return HarvestAdvice(objective(objective_))
    if kind == "topics":
        if not topics:
            raise ValueError(f"The order {order} needs a file of topics: -s FRONTIER_TOPICS=FILE.")
        return TopicsAdvice(read_topics(Path(topics)))
    return Advice()
