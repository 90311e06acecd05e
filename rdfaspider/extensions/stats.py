"""Scrapy's stats, without what each look at them costs."""

from __future__ import annotations

from scrapy.statscollectors import MemoryStatsCollector


class Stats(MemoryStatsCollector):
    """Keeps stats in memory.

    Scrapy's looks at the name of each attribute, each time, to warn those who pass a spider. That takes
    longer than the counting.
    """

    __getattribute__ = object.__getattribute__
