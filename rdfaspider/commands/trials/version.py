"""`scrapy version`, with our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands.version import Command as VersionCommand

from rdfaspider import __version__

if TYPE_CHECKING:
    import argparse


class Command(VersionCommand):
    def short_desc(self) -> str:
        return "Print the versions of rdfaspider and Scrapy"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        print(f"rdfaspider {__version__}")
        super().run(args, opts)
