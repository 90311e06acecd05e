"""Registered names are those of tldextract, whose list is read without it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tldextract import TLDExtract

from rdfaspider.urls import suffixes
from rdfaspider.urls.suffixes import registered

BOTH = pytest.mark.parametrize("private", [False, True])


def theirs(private: bool) -> TLDExtract:
    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=private)


@BOTH
def test_the_list_is_that_of_tldextract(private: bool) -> None:
    assert suffixes._rules(private=private) == set(theirs(private).tlds)


@BOTH
def test_names_under_every_rule_are_registered_as_tldextract_says(private: bool) -> None:
    reference = theirs(private)
    for rule in theirs(True).tlds:
        ascii_rule = rule.lstrip("!").replace("*", "star").encode("idna").decode()
        for name in (ascii_rule, f"a.{ascii_rule}", f"c.b.a.{ascii_rule}"):
            expected = reference.extract_str(name).top_domain_under_public_suffix
            assert registered(name, private=private) == expected, (rule, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.example.org.", "example.org"),
        ("a.www.ck", "www.ck"),  # an exception
        ("a.b.c.ck", "b.c.ck"),  # its wildcard
        ("ck", ""),
        ("a.xn--80ak6aa92e.com", "xn--80ak6aa92e.com"),
        ("a.xn--55qx5d.cn", "a.xn--55qx5d.cn"),
        ("a.xn--0.com", "xn--0.com"),  # no Punycode
        ("a.b.example.lan", "example.lan"),
        ("example.internal", "example.internal"),
        ("corp", ""),
        ("127.0.0.1", ""),
        ("[::1]", ""),
        ("localhost", ""),
        ("", ""),
    ],
)
def test_registered(name: str, expected: str) -> None:
    assert registered(name, private=False) == expected


@BOTH
def test_without_the_file_tldextract_is_asked(
    private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = suffixes._rules.__wrapped__
    expected = read(private=private)
    monkeypatch.setattr(suffixes, "_FILE", "not-there")
    assert read(private=private) == expected


def test_a_domain_is_found_without_the_imports_of_tldextract() -> None:
    program = (
        "import sys; from rdfaspider.urls.hosts import owner_of; assert owner_of('a.b.co.uk') == 'b.co.uk'\n"
        "assert not sys.modules.keys() & {'tldextract', 'requests'}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
