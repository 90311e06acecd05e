from __future__ import annotations

import pytest

from rdfaspider.extract import extract
from rdfaspider.extract.files import FileJoiner


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("b.html", "file:///a/dir/b.html"),
        ("../c d", "file:///a/c%20d"),
        ("/top", "file:///top"),
        ("#x", "file:///a/dir/page.html"),
        ("http://Web.test", "http://web.test/"),
    ],
)
def test_links_of_a_file(href: str, url: str) -> None:
    assert FileJoiner("file:///a/dir/page.html").join(href) == url
    page = f'<a href="{href}">x</a>'.encode()
    assert extract(page, "file:///a/dir/page.html").links == [url]


def test_a_page_of_the_web_links_to_no_files() -> None:
    page = b'<base href="file:///etc/"><a href="passwd">x</a><a href="file:///etc/hosts">y</a>'
    assert extract(page, "http://site.example/").links == []


def test_a_file_with_a_base_in_the_web_links_to_the_web() -> None:
    page = b'<base href="http://site.example/d/"><a href="x">x</a>'
    assert extract(page, "file:///a/b.html").links == ["http://site.example/d/x"]
