from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.urls import authority, host, normalise, registered_domain, unfit_authority
from rdfaspider.urls.hosts import host_and_port


@pytest.mark.parametrize(
    ("url", "expected_authority", "expected_host"),
    [
        ("http://example.org", "example.org", "example.org"),
        ("http://example.org/a:1@b/c", "example.org", "example.org"),
        ("https://example.org:8080/a", "example.org:8080", "example.org"),
        ("https://us@er:p:w@example.org:8080/a", "example.org:8080", "example.org"),
        ("http://[2001:DB8::1]/", "[2001:db8::1]", "[2001:db8::1]"),
        ("http://u@[::1]:81/", "[::1]:81", "[::1]"),
        ("http://0x7f.1:81/", "127.0.0.1:81", "127.0.0.1"),
    ],
)
def test_authority_and_host(url: str, expected_authority: str, expected_host: str) -> None:
    assert authority(normalise(url)) == expected_authority
    assert host(normalise(url)) == expected_host


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org:81", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("www.bücher.de", "xn--bcher-kva.de"),
        ("someone.github.io", "github.io"),  # a private suffix is one owner's
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("server.internal-only", "server.internal-only"),
        ("a.example.lan", "example.lan"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]:8000", "[::1]"),
    ],
)
def test_registered_domain(name: str, expected: str) -> None:
    assert registered_domain(normalise(f"http://{name}/a")) == expected


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a{b.test/", "host"),
        ("http://a`b.test/", "host"),
        ('https://a"b.test/?q', "host"),
        ("http://a.test:25/", "port"),
        ("http://a.test:0/", "port"),
        ("http://me:25@a.test/", ""),
        ("http://a.test:8080/x:25/{", ""),
        ("http://[::1]:6667/", "port"),
        ("http://[::25]/", ""),
        ("http://a.test/`", ""),
    ],
)
def test_no_page_can_be_at_some_servers(url: str, reason: str) -> None:
    assert unfit_authority(url) == reason


@given(
    st.lists(
        st.sampled_from(
            [
                "http",
                "https",
                ":",
                "/",
                "//",
                "?",
                "#",
                "@",
                "[",
                "]",
                "\t",
                "\\",
                "::1",
                "a.test",
                "81",
                " ",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_the_host_of_any_url_is_that_of_urlsplit(url: str) -> None:
    """It is found without the path, so that it can be remembered; the guard checks it."""
    expected = found = None
    with suppress(ValueError):
        parts = urlsplit(url)
        expected = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    with suppress(ValueError):
        found = host_and_port(url)
    assert found == expected
