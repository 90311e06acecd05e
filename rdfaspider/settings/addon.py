"""The add-on that checks all settings: Scrapy's first call into a project.

`update_pre_crawler_settings` comes before logging, reactor and spider are set up; a wrong setting ends
the process there with a sentence. `update_settings` comes at the start of a crawl, when the spider has
added its own settings, and before anything is opened. Another project that uses parts of this one gets
the check, and the defaults, by the same line in its settings:

    ADDONS = {"rdfaspider.settings.addon.SettingsCheck": 0}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.settings.check import check, find_faults, give_types
from rdfaspider.settings.defaults import add_defaults
from rdfaspider.settings.secrets import read_secrets
from rdfaspider.terminal import PROGRAM

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class SettingsCheck:
    """Checks all settings, and gives them their types."""

    is_foreign = False

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        add_defaults(settings)
        check_or_exit(settings, PROGRAM, is_foreign=cls.is_foreign)

    def update_settings(self, settings: BaseSettings) -> None:
        from rdfaspider.settings.places import find_missing

        add_defaults(settings)
        check(settings, is_foreign=self.is_foreign)
        give_types(settings)
        if missing := list(find_missing(settings)):
            raise UsageError("\n".join(missing))


def check_or_exit(settings: BaseSettings, program: str, *, is_foreign: bool = False) -> None:
    """End the process with a sentence for each fault; otherwise give the settings their types."""
    if faults := [*read_secrets(settings), *find_faults(settings, is_foreign=is_foreign)]:
        raise SystemExit("\n".join(f"{program}: {fault}" for fault in faults))
    give_types(settings)
