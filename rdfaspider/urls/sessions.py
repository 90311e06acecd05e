"""Removes session ids from URLs: each visit gets a new one, so they make many pages of one.

Some names are given by a server's software and hold nothing else. Others, such as ``sid``, also
number articles, talks or shops: they are removed only with a value that looks random, that is a UUID,
at least 8 hexadecimal digits or at least 16 letters and digits, with both letters and digits among them.
(Heritrix wants exactly 32; the ids of PHP have 22 and more.)
"""

import re
from collections.abc import Sequence

_CERTAIN = frozenset(("phpsessid", "jsessionid", "bv_sessionid", "oscsid", "zenid", "cftoken"))
_CERTAIN_PREFIX = "aspsessionid"  # followed by eight letters of the server's choice
_POSSIBLE = frozenset(
    {
        *("sid", "_sid", "lsid", "sessid", "session"),
        *("sessionid", "_sessionid", "session_id", "session-id"),
    }
)

DRAWN = re.compile(
    r"(?=[0-9]*[A-Za-z])(?=[A-Za-z]*[0-9])(?:[0-9A-Za-z]{16,}|[0-9A-Fa-f]{8,})"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
)

_PATH_PARAMETER = re.compile(r";([^;/]+)")

# ASP.NET keeps its ids in a separate segment: /(S(lit3py55t21z5v55vlm25s55))/orders.aspx
_ASP_NET = re.compile(r"/\((?:[A-Z]\([0-9A-Za-z_-]+\))+\)(?=/)")


def path_without_sessions(path: str) -> str:
    """Return a path, or a URL up to its query, without session ids.

    It may need normalising: without its id ``/a/..;jsessionid=1`` ends in a dot segment.
    """
    if ";" in path:
        path = _PATH_PARAMETER.sub(_unless_session, path)
    if "/(" in path:
        path = _ASP_NET.sub("", path)
    return path


def query_without_sessions(parameters: Sequence[str]) -> list[str]:
    """Return the ``name=value`` parameters of a query without session ids, also those after a ``;``."""
    kept = [
        _PATH_PARAMETER.sub(_unless_session, parameter) if ";" in parameter else parameter
        for parameter in parameters
        if not _is_session(parameter)
    ]
    if len(kept) < len(parameters):
        # ColdFusion's CFID is a small number, known only by the CFTOKEN beside it.
        kept = [parameter for parameter in kept if not parameter.lower().startswith("cfid=")]
    return kept


def _unless_session(parameter: re.Match[str]) -> str:
    return "" if _is_session(parameter[1]) else parameter[0]


def _is_session(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _POSSIBLE:
        return DRAWN.fullmatch(value) is not None
    return name in _CERTAIN or name.startswith(_CERTAIN_PREFIX)
