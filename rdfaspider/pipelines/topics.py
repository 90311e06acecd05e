"""Topics: classifies a page once, for the store and the frontier (WebParF's page classifier; row P4)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured, UsageError

from rdfaspider.focus.topics import Classifier, read_topics
from rdfaspider.items import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from rdfaspider.focus.topics import Topic

# A type statement, found without parsing the others.
_TYPE = re.compile(
    rb"^(?:<[^>\n]*>|_:\S+) <http://www\.w3\.org/1999/02/22-rdf-syntax-ns#type> <([^>\n]*)>",
    re.MULTILINE,
)


class TopicsPipeline:
    """Gives each page that was read its topic, and the names of all topics that it is about.

    It runs before the filter, so that statements which the filter drops still count for a topic.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = topics
        self._classifier = Classifier(topics)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        name = crawler.settings["FRONTIER_TOPICS"]
        if not name:
            raise NotConfigured
        try:
            return cls(read_topics(Path(name)))
        except ValueError as error:
            raise UsageError(str(error)) from error

    def process_item(self, page: Page) -> Page:
        if isinstance(page, Page) and page.is_read:
            types = {iri.decode() for iri in _TYPE.findall(page.nquads)}
            judged = self._classifier.topics(page.text, page.title, types, page.text_language)
            page.topic = judged[0] if judged else (0, 0)
            page.topics = [self._topics[topic].name for topic, _ in judged]
        return page
