"""Secrets that come from a file or the environment, since others can read command lines and logs.

For each secret setting NAME, `NAME_FILE` names a file whose first line is the value. The password and the
token of the store and the secret of the frontier are also read from environment variables of the same names;
others there, such as STORE_URL, may belong to another program. A value that is set directly comes first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.settings.check import is_asked
from rdfaspider.settings.declarations import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

_LONGEST = 100_000
_IN_ENVIRONMENT = ("STORE_PASSWORD", "STORE_TOKEN", "FRONTIER_SECRET")


def read_secrets(settings: BaseSettings) -> list[str]:
    """Read secrets from files and the environment; return a sentence for each that cannot be read."""
    return [fault for name in sorted(SECRETS) for fault in _read(settings, name)]


def _read(settings: BaseSettings, name: str) -> Iterator[str]:
    if is_asked(settings, name):
        return
    if file := settings.get(f"{name}_FILE"):
        try:
            with Path(file).open(encoding="utf-8") as lines:
                value = lines.readline(_LONGEST).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            yield f"{name}_FILE={file} is wrong: it cannot be read ({reason})."
            return
        if not value:
            yield f"{name}_FILE={file} is wrong: its first line is empty."
            return
    else:
        value = os.environ.get(name, "") if name in _IN_ENVIRONMENT else ""
    if value:
        settings.set(name, value, "cmdline")
