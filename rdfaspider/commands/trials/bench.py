"""`scrapy bench`: how fast Scrapy fetches pages from this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.bench import Command as BenchCommand

from rdfaspider.commands.trials._onepage import PRIORITY, OnePage

if TYPE_CHECKING:
    import argparse


class Command(OnePage, BenchCommand):
    def short_desc(self) -> str:
        return "Measure how fast Scrapy's own parts crawl a server on this machine"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        # The server belongs to the benchmark, so nobody is bothered.
        impolite = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 16, "ROBOTS_OBEY": False}
        self.settings.setdict({**impolite, "LOGSTATS_INTERVAL": 1}, PRIORITY)
        super().process_options(args, opts)
