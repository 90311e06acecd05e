"""`scrapy crawl`, with one sentence instead of a traceback where the user can fix the cause."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING

from scrapy import __version__
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from rdfaspider.heap import tune
from rdfaspider.settings.command import check_values
from rdfaspider.terminal import complain

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler

# They list the enabled components, which is only of interest with a log level.
_CHATTERERS = ("scrapy.addons", "scrapy.middleware", "scrapy.utils.log")


class Command(CrawlCommand):
    name = "crawl"

    def long_desc(self) -> str:
        return (
            "Crawl from the seeds and store the triples found: scrapy crawl rdfa"
            " -a seeds=URL[,URL…]|FILE|-|crawl:DIRECTORY [-a depth=N] [-a scope=host|domain|all]"
            " [-s JOBDIR=DIRECTORY]. The same command again resumes a stopped crawl."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        tune()  # before all that a crawl imports; when the spider is opened, again
        check_values(self.settings, opts)
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise UsageError(f"give a spider: {', '.join(self._spiders)}")
        if len(args) > 1 or "/" in args[0]:
            seeds = ",".join(args[1:] or args)
            spider = args[0] if args[1:] else self._spiders[0]
            raise UsageError(f"URLs are given with -a: scrapy crawl {spider} -a seeds={seeds}")
        self.run_spider(args[0], opts)

    @property
    def _spiders(self) -> list[str]:
        assert self.crawler_process is not None
        return self.crawler_process.spider_loader.list()

    def run_spider(self, spider: str | type[Spider], opts: argparse.Namespace) -> None:
        """Crawl with a spider, given by its name or class."""
        try:
            from scrapy.crawler import AsyncCrawlerProcess
        except ImportError:
            raise UsageError(f"a crawl needs Scrapy 2.14 or later; this is {__version__}") from None

        process = self.crawler_process
        assert process is not None
        if not isinstance(process, AsyncCrawlerProcess):  # another reactor was asked for
            process.crawl(process.create_crawler(spider), **opts.spargs)
            process.start()
            self.exitcode = int(process.bootstrap_failed)
            return
        if not opts.loglevel:
            quieten()
        try:
            crawler = process.create_crawler(spider)
        except KeyError:
            similar = get_close_matches(str(spider), self._spiders, 1)
            hint = f"did you mean {similar[0]}?" if similar else "scrapy list names them."
            complain(self.name, f"there is no spider {spider}: {hint}")
            self.exitcode = 1
            return
        crawl = process.crawl(crawler, **opts.spargs)
        process.start()
        # Not done: stopped by force, a second Ctrl-C.
        error = crawl.exception() if crawl.done() and not crawl.cancelled() else None
        refusal = _refusal(error)
        if refusal:
            for sentence in str(refusal).splitlines():
                complain(self.name, sentence)
        elif error:
            raise error
        elif not crawl.done():
            complain(self.name, "stopped by force; the same command resumes.")
        failed = error is not None or process.bootstrap_failed or not crawl.done()
        self.exitcode = int(failed or went_wrong(crawler))


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
