"""Keeps secrets and control characters out of the log, wherever a line comes from."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Self
from urllib.request import getproxies

from scrapy import signals

from rdfaspider.secrets import masked, secrets_of
from rdfaspider.terminal import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

# Shorter secrets would be found inside ordinary words.
_SHORTEST = 4
_formatter = logging.Formatter()


class Redaction:
    """Replaces the secrets of settings, arguments and URLs in every log record by an ellipsis.

    Our own messages contain none; this is for those of Scrapy, of libraries and of tracebacks. Control
    characters, which pages and servers may send, are written as escapes.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add(secrets)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        redaction = cls(secrets_in(crawler.settings))
        redaction.install()
        crawler.signals.connect(redaction.spider_opened, signals.spider_opened)
        return redaction

    def install(self) -> None:
        """Filter the records of all log handlers that exist now."""
        for handler in logging.root.handlers:
            handler.addFilter(self.filter)

    def spider_opened(self, spider: Spider) -> None:
        self.install()  # Scrapy has replaced its handler since then
        arguments = {name: value for name, value in vars(spider).items() if isinstance(value, str)}
        self.add(secret for name, value in arguments.items() for secret in secrets_of(name, value))

    def add(self, secrets: Iterable[str]) -> None:
        self._secrets.update(secret for secret in secrets if len(secret) >= _SHORTEST)
        if self._secrets:
            longest_first = sorted(self._secrets, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if (clean := self._clean(message)) != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = _formatter.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._clean(record.exc_text)
        return True

    def _clean(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub("…", text)
        text = masked(text)
        return "\n".join(map(escaped, text.split("\n")))


def secrets_in(settings: BaseSettings) -> set[str]:
    """Return every secret text of the settings, inside lists and dictionaries too, and of proxies."""
    values = [(name, settings[name]) for name in settings]
    values += [("proxy", url) for url in getproxies().values()]
    return {
        secret
        for name, value in values
        for text in _texts(value)
        for secret in secrets_of(name, text)
    }


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
        if value.startswith("{"):  # a dictionary, as the command line has it
            with suppress(ValueError, RecursionError):
                yield from _texts(json.loads(value))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if "://" in str(key):  # FEEDS has its addresses as keys
                yield str(key)
            yield from _texts(item)
