"""`scrapy parse`: what the spider makes of one page, links and triples included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.parse import Command as ParseCommand

from rdfaspider.commands.trials._onepage import PRIORITY, OnePage

if TYPE_CHECKING:
    import argparse

# They turn the body of a page into links and triples, and store nothing.
_PIPELINES = {
    "rdfaspider.pipelines.extract.ExtractPipeline": 100,
    "rdfaspider.pipelines.filter.FilterPipeline": 500,
}


class Command(OnePage, ParseCommand):
    def short_desc(self) -> str:
        return "Print the item that a spider makes of a URL; rdfa, unless there are others"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        self.settings.set("ITEM_PIPELINES_BASE", _PIPELINES, PRIORITY)
        # One page is not worth a process.
        self.settings.set("EXTRACT_PROCESSES", 0, PRIORITY)
        if not opts.pipelines:  # --pipelines asks for those of the user
            self.settings.set("ITEM_PIPELINES", {}, PRIORITY)
            opts.pipelines = True
        super().process_options(args, opts)

    def set_spidercls(self, url: str, opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        names = self.crawler_process.spider_loader.list()
        if len(names) == 1:
            opts.spider = opts.spider or names[0]
        super().set_spidercls(url, opts)
