"""The public suffix list: under which names people register their own.

It is the list that comes with tldextract, used as it is: no network, no cache on disk. The file is read here,
because tldextract imports requests and builds two tries of the whole list, which takes longer than to fetch
and store a page.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

# The list's file in tldextract, and the line in it after which the private suffixes come.
_FILE = ".tld_set_snapshot"
_PRIVATE = "// ===BEGIN PRIVATE DOMAINS==="


def registered(name: str, *, private: bool) -> str:
    """Return the suffix of a host name and the label before it; "" if either is missing.

    With `private`, suffixes count that a company gives to its customers, such as ``blogspot.com``.
    """
    labels = name.rstrip(".").split(".")
    rules = _rules(private=private)
    known = [*map(_decoded, labels)] if "xn--" in name else labels
    for start in range(len(labels)):
        suffix = ".".join(known[start:])
        if f"!{suffix}" in rules:  # an exception to a wildcard
            return ".".join(labels[start:])
        parent = suffix.partition(".")[2]
        if suffix in rules or f"*.{parent}" in rules:
            return ".".join(labels[start - 1 :]) if start else ""
    # The list's rule for all else is "*", under which private networks have their names; not so addresses.
    return ".".join(labels[-2:]) if len(labels) > 1 and not labels[-1].isdecimal() else ""


def _decoded(label: str) -> str:
    """Return a label as it is written in the list."""
    if not label.startswith("xn--"):
        return label
    from idna import decode

    try:
        return decode(label)
    except UnicodeError:
        return label


@cache
def _rules(*, private: bool) -> frozenset[str]:
    spec = find_spec("tldextract")  # which does not import it
    assert spec is not None and spec.origin is not None
    try:
        text = Path(spec.origin).with_name(_FILE).read_text(encoding="utf-8")
    except OSError:  # another version, or an installation that is no directory
        from tldextract import TLDExtract

        given = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=private)
        return frozenset(given.tlds)
    if not private:
        text = text.partition(_PRIVATE)[0]
    lines = text.split("\n")
    return frozenset(line.strip() for line in lines if line and not line.startswith("//"))
