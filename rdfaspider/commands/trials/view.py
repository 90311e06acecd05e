"""`scrapy view`: what one URL answers, in a browser."""

from __future__ import annotations

from scrapy.commands.view import Command as ViewCommand

from rdfaspider.commands.trials._onepage import OnePage


class Command(OnePage, ViewCommand):
    def short_desc(self) -> str:
        return "Open a URL in the browser, as the crawler sees it"
