"""What our commands have in common: they check the settings before they do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse


class CheckedCommand(ScrapyCommand):
    """A command that ends with exit code 1 and a sentence for each wrong setting."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.settings.addon import check_or_exit

        super().process_options(args, opts)
        assert self.settings is not None
        check_or_exit(self.settings, f"scrapy {type(self).__module__.rpartition('.')[2]}")
