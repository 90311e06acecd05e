"""Checks settings against their declarations: wrong values, and names that do not exist."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, default_settings

from rdfaspider.settings.declarations import DECLARED, PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
_DEFAULT = SETTINGS_PRIORITIES["default"]
_PROJECT = SETTINGS_PRIORITIES["project"]
_SCRAPYS = frozenset(name for name in dir(default_settings) if name.isupper())


def is_asked(settings: BaseSettings, name: str) -> bool:
    """Tell whether somebody has set a setting, other than as a default of this or another project."""
    return (settings.getpriority(name) or 0) > _PROJECT


def check(settings: BaseSettings, *, is_foreign: bool = False) -> None:
    """Raise UsageError with a sentence for each fault."""
    if faults := list(find_faults(settings, is_foreign=is_foreign)):
        raise UsageError("\n".join(faults))


def find_faults(settings: BaseSettings, *, is_foreign: bool = False) -> Iterator[str]:
    """Yield a sentence for each setting that is wrong or does not exist.

    A foreign project may use our prefixes for its own settings; what was set by hand is checked there too.
    """
    for name in settings:
        if name in DECLARED:
            try:
                DECLARED[name].read(settings[name])
            except ValueError as error:
                yield str(error)
        elif name not in _SCRAPYS:
            priority = settings.getpriority(name) or 0
            if not is_foreign or priority >= _COMMAND_LINE:
                yield from _unknown(name, priority)
    yield from _reckless(settings)


def _reckless(settings: BaseSettings) -> Iterator[str]:
    """Refuse a password without a domain: it would be sent to every host."""
    given = [name for name in ("HTTPAUTH_USER", "HTTPAUTH_PASS") if settings[name]]
    if given and (settings.getpriority("HTTPAUTH_DOMAIN") or 0) <= _DEFAULT:
        yield (
            f"{given[0]} needs HTTPAUTH_DOMAIN, the domain that the password is sent to: for example"
            " -s HTTPAUTH_DOMAIN=example.org."
        )


def _unknown(name: str, priority: int) -> Iterator[str]:
    """Refuse a misspelt name: one with a prefix of ours, or on the command line one that nearly exists."""
    is_ours = name.startswith(PREFIXES)
    is_by_hand = priority >= _COMMAND_LINE
    if not is_by_hand and not is_ours:
        return
    likeness = 0.6 if is_ours and is_by_hand else 0.85
    near = get_close_matches(name, {*DECLARED, *_SCRAPYS}, 1, likeness)
    if near:
        yield f"{name} is not a setting: did you mean {near[0]}?"
    elif is_ours and is_by_hand:
        yield f"{name} is not a setting: docs/settings.md lists those that begin with this prefix."


def give_types(settings: BaseSettings) -> None:
    """Convert values that were given as text to their types; all must be valid."""
    for name, setting in DECLARED.items():
        if name in settings:
            value = setting.read(settings[name])
            settings.set(name, value, settings.getpriority(name) or 0)
