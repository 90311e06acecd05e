"""`scrapy runspider`, with one sentence instead of a traceback as in `scrapy crawl`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands.runspider import Command as RunSpiderCommand
from scrapy.exceptions import UsageError
from scrapy.utils.spider import iter_spider_classes

from rdfaspider.commands.crawls.crawl import Command as CrawlCommand

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider


class Command(CrawlCommand):
    name = "runspider"
    requires_project = False
    default_settings: ClassVar[dict[str, Any]] = RunSpiderCommand.default_settings

    def syntax(self) -> str:
        return "[options] FILE"

    def short_desc(self) -> str:
        return "Run a spider from a Python file"

    def long_desc(self) -> str:
        return "Run the spider that a Python file defines, with the settings of this project."

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one Python file with a spider")
        self.run_spider(_spider_in(Path(args[0]).resolve()), opts)


def _spider_in(path: Path) -> type[Spider]:
    if not path.is_file() or path.suffix != ".py":
        raise UsageError(f"{path} is not a Python file.", print_help=False)
    sys.path.insert(0, str(path.parent))
    try:
        spiders = list(iter_spider_classes(import_module(path.stem)))
    except ImportError as error:
        raise UsageError(f"{path} cannot be imported: {error}", print_help=False) from error
    finally:
        sys.path.remove(str(path.parent))
    if not spiders:
        raise UsageError(f"There is no spider in {path}.", print_help=False)
    return spiders[-1]
