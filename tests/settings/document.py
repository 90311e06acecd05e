"""The tables of docs/settings.md, made from the declarations.

`python -m tests.settings.document` renews them. A table stands between `<!-- settings: COMPONENT -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.settings.declarations import COMPONENTS

if TYPE_CHECKING:
    from rdfaspider.settings.setting import Setting

_PLACE = re.compile(r"(?s)(<!-- settings: (\w+) -->\n).*?(<!-- end -->)")
_HEAD = "| setting | allowed | default | what it does |\n|---|---|---|---|\n"


def with_tables(text: str) -> str:
    """Return a document with its tables renewed."""
    return _PLACE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def table(component: str) -> str:
    """Return the table of a component's settings."""
    return _HEAD + "".join(_row(setting) for setting in COMPONENTS[component])


def _row(setting: Setting) -> str:
    return f"| `{setting.name}` | {setting.allowed} | {_default(setting)} | {setting.text} |\n"


def _default(setting: Setting) -> str:
    value = setting.default
    if setting.shown_default or value == "":
        return setting.shown_default
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    path = Path("docs/settings.md")
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
