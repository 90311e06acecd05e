"""Topics: a crawl in several pools, one for each subject, that take turns (WebParF).

    topics = read_topics(Path("topics.toml"))     names, words, types, seeds
    classifier = Classifier(topics)               page → (topic, score), link → (topic, score)
    hint = hint_of(topic, score)                  kept with a waiting URL (ranker.py)

The pools are in the frontier (frontier/orders/topics.py).

A topic is a number in order of the file, sub-topics after their parent; 0 is everything else.
"""

from __future__ import annotations

from rdfaspider.focus.topics.classifier import Classifier
from rdfaspider.focus.topics.file import Topic, parse_topics, read_topics
from rdfaspider.focus.topics.ranker import hint_of, topic_of

__all__ = ["Classifier", "Topic", "hint_of", "parse_topics", "read_topics", "topic_of"]
