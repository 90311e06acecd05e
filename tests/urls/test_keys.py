from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.provisional import urls

from rdfaspider.urls import normalise
from rdfaspider.urls.keys import host_name, host_of, is_dynamic, to_key, to_keys, to_url

EXAMPLES = {
    "https://www.example.org/a/b?q": b"org,example,www)/a/b?q",
    "http://www.example.org/": b"org,example,www:80)/",
    "http://example.org:8000/": b"org,example:8000)/",
    "https://example.org:8000/": b"org,example:8000s)/",
    "https://example.org:80/": b"org,example:80s)/",
    "http://example.org:443/": b"org,example:443)/",
    "http://127.0.0.1:8000/": b"127.0.0.1:8000)/",
    "http://[::1]/": b"[::1]:80)/",
    "https://[::1]:8443/x": b"[::1]:8443s)/x",
    "https://user:word@example.org/": b"org,example@user:word)/",
    "http://a,b.test/": b"test,a%2Cb:80)/",
    "https://localhost/": b"localhost)/",
}


@pytest.mark.parametrize("url", EXAMPLES)
def test_examples(url: str) -> None:
    assert to_key(url) == EXAMPLES[url]
    assert to_url(EXAMPLES[url]) == url


@given(urls())
def test_the_way_back_is_exact(url: str) -> None:
    try:
        url = normalise(url)
    except ValueError:
        return
    assert to_url(to_key(url)) == url


@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "u@", "u:p@", "a)b@"]),
    st.from_regex(r"[a-z,]{1,3}(\.[a-z,]{1,3}){0,2}|\[::1\]|1\.2\.3\.4", fullmatch=True),
    st.sampled_from(["", ":1", ":80", ":443", ":8080"]),
    st.sampled_from(["/", "/a", "/a)/b", "/?q=a/b,c"]),
)
def test_no_two_urls_share_a_key(scheme: str, user: str, host: str, port: str, path: str) -> None:
    try:
        url = normalise(f"{scheme}://{user}{host}{port}{path}")
    except ValueError:
        return
    assert to_url(to_key(url)) == url


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["http", "https"]),
            st.sampled_from(["a", "ab", "a.b", "u@a", "a:b@a", "[::1]", "1.2.3.4"]),
            st.sampled_from(["", ":1", ":80", ":8080"]),
            st.sampled_from(["/", "/a", "//a/", "/?q=http://a/", "/a)/b"]),
        )
    )
)
def test_many_at_once_are_the_same_as_each_alone(parts: list[tuple[str, str, str, str]]) -> None:
    found = [f"{scheme}://{host}{port}{path}" for scheme, host, port, path in parts]
    assert to_keys(iter(found)) == [to_key(url) for url in found]


@pytest.mark.parametrize(
    "bad", ["", " ", " /a/b/c/d/e", "ftp://example.org/", "https://a", "x" * 20]
)
def test_a_url_that_is_none_among_many_is_refused(bad: str) -> None:
    good = "https://example.org/"
    for urls_with_it in ([bad], [good, bad], [bad, good]):
        with pytest.raises(ValueError, match=r"substring|URL"):
            to_keys(urls_with_it)


def test_a_site_is_a_prefix() -> None:
    site = to_key("https://example.org/")[:-2]
    assert to_key("https://www.example.org/a").startswith(site)
    assert to_key("http://example.org/a").startswith(site)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.example.org/a", "www.example.org"),
        ("http://example.org:8000/a:b@c)", "example.org"),
        ("https://user:word@example.org/", "example.org"),
        ("http://[::1]:8000/", "[::1]"),
        ("http://127.0.0.1:8000/", "127.0.0.1"),
    ],
)
def test_a_host_is_one_whatever_its_services(url: str, name: str) -> None:
    assert host_name(host_of(to_key(url))) == name


def test_only_the_web_has_keys() -> None:
    with pytest.raises(ValueError, match="Not an http"):
        to_key("ftp://example.org/a")


def test_a_query_makes_a_page_dynamic() -> None:
    assert is_dynamic(to_key("https://example.org/?a"))
    assert not is_dynamic(to_key("https://example.org/a"))
