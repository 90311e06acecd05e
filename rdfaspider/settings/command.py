"""The frame that all our own commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings, Settings


class CheckedCommand(ScrapyCommand):
    """Checks the settings, does the work, and reports a failure in one line with exit code 1.

    A subclass says in `arguments`, `summary` and `description` what `scrapy NAME -h` shows, and overrides
    `work`.
    """

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    settings: Settings  # Scrapy sets it before it calls anything
    arguments = "[options]"
    summary = ""
    description = ""

    @property
    def name(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    def syntax(self) -> str:
        return self.arguments

    def short_desc(self) -> str:
        return self.summary

    def long_desc(self) -> str:
        return self.description or self.summary

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.settings.addon import check_or_exit
        from rdfaspider.terminal import PROGRAM

        check_values(self.settings, opts)
        super().process_options(args, opts)
        check_or_exit(self.settings, f"{PROGRAM} {self.name}")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.terminal import exit_code_of

        self.check_usage(args, opts)
        self.exitcode = exit_code_of(self.name, lambda: self.work(args, opts))

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        """Raise UsageError, which also shows the help, if the arguments make no sense."""
        if args and self.arguments == "[options]":
            raise UsageError(f"scrapy {self.name} takes options only")

    def work(self, args: list[str], opts: argparse.Namespace) -> int | None:
        """Do the work and return the exit code; an OSError or ValueError becomes one line."""
        raise NotImplementedError


def check_values(settings: BaseSettings | None, opts: argparse.Namespace) -> None:
    """Raise UsageError if a setting that is a dictionary is given something else with -s."""
    assert settings is not None
    for option in opts.set:
        name, equals, value = option.partition("=")
        try:
            if equals:
                settings.set(name, value, "cmdline")
        except ValueError:
            raise UsageError(
                f'{name} must be a dictionary in JSON, such as {{"NAME": 100}}, not {value}',
                print_help=False,
            ) from None
