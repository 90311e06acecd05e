"""The User-Agent header, and the rule that nobody crawls strangers without a contact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider import __version__
from rdfaspider.settings.check import is_asked
from rdfaspider.urls import host, without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

# This machine, and names that nobody can own (RFC 2606, RFC 6761).
_NOBODYS = re.compile(
    r"127(\.\d+){3}|\[::1\]|(.*\.)?(localhost|test|example|invalid|example\.(com|net|org))"
)


def user_agent(settings: BaseSettings) -> str:
    """Return the User-Agent, which names the contact if there is one."""
    if contact := settings["POLITENESS_CONTACT"]:
        return f"{settings['BOT_NAME']}/{__version__} (+{contact})"
    return str(settings["USER_AGENT"])


def introduce(settings: BaseSettings, seeds: Iterable[str]) -> None:
    """Set the User-Agent by POLITENESS_CONTACT, and refuse to crawl strangers without one."""
    if settings["POLITENESS_CONTACT"]:
        settings.set("USER_AGENT", user_agent(settings), priority="spider")
        return
    strangers = [url for url in seeds if not _NOBODYS.fullmatch(host(url))]
    if strangers and not is_asked(settings, "USER_AGENT"):
        raise UsageError(
            f"Nobody can tell who crawls {without_userinfo(strangers[0])}: set POLITENESS_CONTACT to a web"
            " page or an e-mail address where people can reach you, with"
            " -s POLITENESS_CONTACT=https://your.site/about. It becomes part of the User-Agent."
        )
