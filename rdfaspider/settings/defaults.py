"""Gives settings of ours their defaults where another project does not have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.settings.check import check, give_types
from rdfaspider.settings.declarations import OWN

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def add_defaults(settings: BaseSettings) -> None:
    for component in OWN.values():
        for setting in component:
            if setting.name not in settings:
                settings.set(setting.name, setting.default, "default")


def completed(settings: BaseSettings) -> BaseSettings:
    """Return settings with all of ours; raise UsageError for wrong ones.

    A part that another project uses alone would otherwise read limits as 0, and switches as off.
    """
    if _has_all(settings):
        return settings
    settings = settings.copy()
    settings.frozen = False
    add_defaults(settings)
    check(settings, is_foreign=True)
    give_types(settings)
    return settings


def demand_all(settings: BaseSettings, part: str) -> None:
    """Raise UsageError if settings that a part reads throughout a crawl are missing."""
    if not _has_all(settings):
        raise UsageError(
            f"{part} needs the settings of rdfaspider, which are not there: add"
            ' ADDONS = {"rdfaspider.settings.addon.SettingsCheck": 0} to those of your project.'
        )


def _has_all(settings: BaseSettings) -> bool:
    return all(setting.name in settings for component in OWN.values() for setting in component)
