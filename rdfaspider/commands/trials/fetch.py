"""`scrapy fetch`: what one URL answers, through the address guard."""

from __future__ import annotations

from scrapy.commands.fetch import Command as FetchCommand

from rdfaspider.commands.trials._onepage import OnePage


class Command(OnePage, FetchCommand):
    def short_desc(self) -> str:
        return "Fetch a URL as Scrapy does, through the address guard, and print it"
