"""`scrapy check`: the contracts in the docstrings of spiders."""

from __future__ import annotations

from scrapy.commands.check import Command as CheckCommand

from rdfaspider.commands.trials._onepage import OnePage


class Command(OnePage, CheckCommand):
    def short_desc(self) -> str:
        return "Check the contracts of spiders, without a frontier or a store"
