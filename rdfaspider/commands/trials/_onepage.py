"""Commands of Scrapy that fetch single pages, without a frontier or a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

# Above the settings of the project and of a spider, below the command line.
PRIORITY = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2


class OnePage:
    """Gives a command Scrapy's scheduler; the add-on does the rest."""

    settings: Settings | None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        self.settings.set("SCHEDULER", "scrapy.core.scheduler.Scheduler", PRIORITY)
        super().process_options(args, opts)  # type: ignore[misc]
