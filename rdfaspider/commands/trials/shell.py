"""`scrapy shell`: an interactive console with a page in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.shell import Command as ShellCommand

from rdfaspider.commands.trials._onepage import PRIORITY, OnePage

if TYPE_CHECKING:
    import argparse


class Command(OnePage, ShellCommand):
    def short_desc(self) -> str:
        return "Interactive console with the page of a URL or a file"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        add = self.settings["EXTENSIONS_BASE"].set
        add("rdfaspider.resolver.typed.TypedRequests", 100, PRIORITY)
        add = self.settings["DOWNLOAD_HANDLERS_BASE"].set
        add("file", "rdfaspider.resolver.typed.TypedFileDownloadHandler", PRIORITY)
        super().process_options(args, opts)
