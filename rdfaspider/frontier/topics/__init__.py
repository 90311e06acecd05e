"""Topics: a crawl in several pools, one for each subject, that take turns (WebParF).

    topics = read_topics(Path("topics.toml"))     names, words, types, seeds
    classifier = Classifier(topics)               page → (topic, score), link → (topic, score)

The pools are in the frontier (orders/topics.py).

A topic is a number in order of the file, sub-topics after their parent; 0 is everything else.
"""

from __future__ import annotations

from rdfaspider.frontier.topics.classifier import Classifier, relevance
from rdfaspider.frontier.topics.file import Topic, parse_topics, read_topics

__all__ = ["Classifier", "Topic", "parse_topics", "read_topics", "relevance"]
