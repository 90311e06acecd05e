"""What must never be shown: secret values by name, and passwords inside URLs.

A name is secret if it says so (`STORE_PASSWORD`, `-a token=…`). A URL may carry a secret as its
userinfo (`redis://:SECRET@host`) or as a parameter (`?password=SECRET`).
"""

from __future__ import annotations

import re
import shlex

# Parts of secret names, between underscores.
_SECRET_PARTS = frozenset(
    (
        "credential",
        "credentials",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "pwd",
        "secret",
        "token",
    )
)
_SECRET_NAME = re.compile(r"(?i)(api|access|private|secret)_?key$|headers$|password|authorization")
# The name of a file or a limit, not of a secret.
_HARMLESS_NAME = re.compile(r"(?i)_(file|path|seconds|bytes|mb)$")
# All up to the last @ before the path; an unescaped password may contain anything but a slash.
_USERINFO = re.compile(r"(?<=://)([^/\s]*)@")
_PARAMETER = re.compile(r"(?i)(?<=[?&])((?:\w*password|\w*token|api_?key)=)([^&#\s]+)")
# Not a variable in a command for pasting.
_IN_TEXT = re.compile(r"://(?![^/\s@]*\$\{)[^/\s@<>\"']*@")
# Characters that the shell expands between double quotes.
_ACTIVE = re.compile(r'([\\"`$])')


def is_secret(name: str) -> bool:
    """Tell whether the value of a setting or argument is secret by its name."""
    parts = re.split(r"[_\W]+", name.lower())
    is_telling = not _SECRET_PARTS.isdisjoint(parts) or _SECRET_NAME.search(name)
    return bool(is_telling) and not _HARMLESS_NAME.search(name)


def masked(text: str) -> str:
    """Return a text without the users and passwords of the URLs in it."""
    return _IN_TEXT.sub("://…@", text) if "@" in text else text


def without_secrets(url: str) -> str:
    """Return a URL from a user, perhaps malformed, as it may be shown."""
    # All up to the last @, since an unescaped password may contain others.
    return _PARAMETER.sub(r"\1…", re.sub(r"(?s)://.*@", "://…@", url))


def secrets_of(name: str, value: str) -> set[str]:
    """Return the secret parts of a setting's or argument's value."""
    if is_secret(name):
        return {value} if value else set()
    found = {part for user in _USERINFO.findall(value) for part in (user, user.partition(":")[2])}
    found.update(secret for _, secret in _PARAMETER.findall(value))
    return found - {""}


def shell_assignment(name: str, value: str) -> tuple[str, set[str]]:
    """Return NAME=VALUE as a word for a shell, and the variables that stand for its secrets.

    A secret becomes a shell variable, so the word can be shown, and pasted once the variable is set.
    """
    if is_secret(name):
        return f'{name}="${name}"', {name}
    word, variables = shell_word(value, f"{name}_PASSWORD".upper())
    return (f"{name}={word}" if variables else shlex.quote(f"{name}={value}")), variables


def shell_word(text: str, variable: str) -> tuple[str, set[str]]:
    """Return a text quoted for a shell, with a variable for the secrets of its URLs, and its name."""
    shown = _ACTIVE.sub(r"\\\1", text)
    masked = _USERINFO.sub(lambda found: _user(found[1], variable), shown)
    masked = _PARAMETER.sub(lambda found: f"{found[1]}${{{variable}}}", masked)
    return (shlex.quote(text), set()) if masked == shown else (f'"{masked}"', {variable})


def _user(userinfo: str, variable: str) -> str:
    """Return userinfo with a variable for the password, or for all of it if there is no colon."""
    user, colon, _ = userinfo.partition(":")
    return f"{user}:${{{variable}}}@" if colon else f"${{{variable}}}@"
