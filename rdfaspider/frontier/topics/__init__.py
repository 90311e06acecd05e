"""Topics: a crawl in several pools, one for each subject, that take turns (WebParF).

    topics = read_topics(Path("topics.toml"))     names, words, types, seeds
    classifier = Classifier(topics)               page → (topic, score), link → (topic, score)
    pools = Pools(len(topics))                    score → FIFO, one of each topic in turn, in memory

The frontier keeps the pools on disk (orders/topics.py).

A topic is a number in order of the file, sub-topics after their parent; 0 is everything else.
"""

from __future__ import annotations

from rdfaspider.frontier.topics.classifier import Classifier, relevance
from rdfaspider.frontier.topics.file import Topic, parse_topics, read_topics
from rdfaspider.frontier.topics.pools import Pools

__all__ = ["Classifier", "Pools", "Topic", "parse_topics", "read_topics", "relevance"]
