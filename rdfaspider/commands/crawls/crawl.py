"""`scrapy crawl`, with one sentence instead of a traceback where the user can fix the cause."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from rdfaspider.heap import tune
from rdfaspider.secrets import masked

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler

# They list the enabled components, which is only of interest with a log level.
_CHATTERERS = ("scrapy.addons", "scrapy.middleware", "scrapy.utils.log")


class Command(CrawlCommand):
    program = "scrapy crawl"

    def long_desc(self) -> str:
        return (
            "Crawl from the seeds and store the triples found: scrapy crawl rdfa"
            " -a seeds=URL[,URL…]|FILE|-|crawl:DIRECTORY [-a depth=N] [-a scope=host|domain|all]"
            " [-s JOBDIR=DIRECTORY]. The same command again resumes a stopped crawl."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        tune()  # before all that a crawl imports; when the spider is opened, again
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            super().run(args, opts)
            return
        self.run_spider(args[0], opts)

    def run_spider(self, spider: str | type[Spider], opts: argparse.Namespace) -> None:
        """Crawl with a spider, given by its name or class."""
        from scrapy.crawler import AsyncCrawlerProcess

        process = self.crawler_process
        assert process is not None
        if not isinstance(process, AsyncCrawlerProcess):  # another reactor was asked for
            process.crawl(self._create_crawler(spider), **opts.spargs)
            process.start()
            self.exitcode = int(process.bootstrap_failed)
            return
        if not opts.loglevel:
            quieten()
        try:
            crawler = self._create_crawler(spider)
        except KeyError:
            print(
                f"{self.program}: there is no spider {spider}: scrapy list names them.",
                file=sys.stderr,
            )
            self.exitcode = 1
            return
        crawl = process.crawl(crawler, **opts.spargs)
        process.start()
        # Not done: stopped by force, a second Ctrl-C.
        error = crawl.exception() if crawl.done() and not crawl.cancelled() else None
        refusal = _refusal(error)
        if refusal:
            for sentence in str(refusal).splitlines():
                print(f"{self.program}: {masked(sentence)}", file=sys.stderr)
        elif error:
            raise error
        elif not crawl.done():
            print(f"{self.program}: stopped by force; the same command resumes.", file=sys.stderr)
        self.exitcode = int(process.bootstrap_failed or not crawl.done() or went_wrong(crawler))


def quieten() -> None:
    """Keep the list of enabled components out of the log."""
    for name in _CHATTERERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("scrapy.crawler").addFilter(_is_about_a_signal)


def _is_about_a_signal(record: logging.LogRecord) -> bool:
    """Accept the messages about signals, but not the list of settings."""
    return record.levelno > logging.INFO or record.getMessage().startswith("Received")


_SIGNS = ("frontier/unsafe", "reach/no_answer", "store/failed/load", "store/failed/outbox")


def went_wrong(crawler: Crawler) -> bool:
    """Tell whether the crawl ended too early, or without its store, because a disk or server failed."""
    from rdfaspider.extensions.summary.reasons import FAILURES

    if not crawler.spider:
        return False
    reason = crawler.stats.get_value("finish_reason")
    return reason in FAILURES or any(map(crawler.stats.get_value, _SIGNS))


def _refusal(error: BaseException | None) -> BaseException | None:
    """Return the exception that tells the user what to do; others may have followed it."""
    from rdfaspider.frontier import FrontierUnavailable
    from rdfaspider.stores import StoreUnavailable

    while error and not isinstance(error, UsageError | FrontierUnavailable | StoreUnavailable):
        error = error.__context__
    return error
