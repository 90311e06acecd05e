"""The add-on for any Scrapy project: triples of every page, and politeness.

    ADDONS = {"rdfaspider.Addon": 300}

An existing spider keeps its items, callbacks and pipelines, and its scheduler unless the frontier is asked
for. Added are the parts of `rdfaspider/parts/`; what the project or the command line has set stays as it is.
`ADDON_PARTS` names the parts that are wanted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from scrapy import version_info
from scrapy.exceptions import NotConfigured, UsageError
from scrapy.settings import SETTINGS_PRIORITIES

import rdfaspider.feeds  # noqa: F401  # shows Pages as items, if a spider yields them
from rdfaspider.parts.trials import is_trial
from rdfaspider.scheduler import uses_frontier
from rdfaspider.settings.addon import SettingsCheck

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

# Nearest to the spider, so that it sees what has been unpacked and redirected.
_TRIPLES = {"rdfaspider.parts.triples.TriplesMiddleware": 10}
# Nearest to the downloader but for the cache (900), whose answers are not those of a server.
_MANNERS = {"rdfaspider.parts.manners.MannersMiddleware": 880}


class Addon(SettingsCheck):
    """Adds the parts that are asked for to the settings of a project, and checks those of ours."""

    is_foreign = True

    def __init__(self, *, is_trial: bool) -> None:
        self.is_trial = is_trial

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(is_trial=is_trial(crawler))

    def update_settings(self, settings: BaseSettings) -> None:
        logging.getLogger("asyncio").addFilter(_without_traceback)
        super().update_settings(settings)
        if uses_frontier(settings):
            raise NotConfigured("this project has all parts already")
        parts = settings.getlist("ADDON_PARTS")
        if "triples" in parts:
            settings["DOWNLOADER_MIDDLEWARES"].update(_TRIPLES, "addon")
        if "robots" in parts:
            _suggest(settings, "ROBOTSTXT_OBEY", settings.getbool("ROBOTS_OBEY"))
            _suggest(settings, "ROBOTSTXT_PARSER", "rdfaspider.parts.robots.RobotsParser")
        at_once = settings.getint("POLITENESS_AT_ONCE")
        if "frontier" in parts and version_info < (2, 14):
            raise UsageError("the part frontier needs Scrapy 2.14 or later")
        if "frontier" in parts and not self.is_trial:  # which is polite by itself
            _suggest(settings, "SCHEDULER", "rdfaspider.parts.frontier.FrontierScheduler")
            _suggest(settings, "CONCURRENT_REQUESTS_PER_DOMAIN", at_once)
        elif "politeness" in parts or "frontier" in parts:
            _suggest(settings, "DOWNLOAD_DELAY", settings.getfloat("POLITENESS_DELAY"))
            _suggest(settings, "CONCURRENT_REQUESTS_PER_DOMAIN", at_once)
            settings["DOWNLOADER_MIDDLEWARES"].update(_MANNERS, "addon")


def _without_traceback(record: logging.LogRecord) -> bool:
    """Leave the sentence of a mistake of the user: Scrapy lets asyncio log what ends a crawl at its start."""
    if record.exc_info and isinstance(record.exc_info[1], UsageError):
        record.msg, record.args, record.exc_info = str(record.exc_info[1]), (), None
    return True


def _suggest(settings: BaseSettings, name: str, value: Any) -> None:
    """Set a setting of Scrapy that nobody else has set."""
    if (settings.getpriority(name) or 0) <= SETTINGS_PRIORITIES["default"]:
        settings.set(name, value, "addon")
