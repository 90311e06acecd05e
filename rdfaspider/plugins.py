"""Code of other packages, named by its dotted path: `package.module.name`.

Orders, filters, extractors, columns and stores may be of other packages. The module must be on the import
path of the crawl (the directory of a Scrapy project is, PYTHONPATH adds others); child processes have the
same path (children.py). Only names in settings are imported, never names that a service or a file tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)


def is_path(name: object) -> bool:
    """Tell whether a name is a dotted path."""
    return isinstance(name, str) and _PATH.fullmatch(name) is not None


@cache
def load(path: str, what: str, needs: Sequence[str] = (), extends: str = "") -> Any:
    """Return the class or function at a path; ValueError in a sentence if it cannot be used.

    `what` is what it is for, as "an order". `needs` are the names that it must have; the class `extends` has
    them all.
    """
    found = _imported(path, what)
    if not callable(found):
        raise ValueError(f"{path} cannot be {what}: it is neither a function nor a class.")
    if missing := [name for name in needs if not hasattr(found, name)]:
        advice = f": extend {extends}" if extends else ""
        raise ValueError(f"{path} cannot be {what}: it has no {', '.join(missing)}{advice}.")
    return found


def _imported(path: str, what: str) -> Any:
    if not is_path(path):
        raise ValueError(f"{path!r} is not a dotted path, as package.module.name.")
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{path} cannot be {what}: there is no module {error.name} on the import path (PYTHONPATH)."
        ) from None
    except AttributeError:
        raise ValueError(f"{path} cannot be {what}: {module} has no {name}.") from None
    except Exception as error:  # whatever the module does when it is imported
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(
            f"{path} cannot be {what}: {module} cannot be imported ({said})."
        ) from None
