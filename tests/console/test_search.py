"""Search in the console: its answers, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.site.web import Web
from tests.console.conftest import WEB
from tests.console.test_browser import Watched, browser  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.console.crawls import Console

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SEED = Web(WEB).url(0, 0)


def get(console: Console, path: str) -> tuple[int, Any]:
    response, body = console.request("GET", path, authorization=f"Bearer {console.token}")
    kind = response.getheader("Content-Type") or ""
    return response.status, json.loads(body) if "json" in kind else body


def test_things_are_found_while_the_crawl_runs(console: Console) -> None:
    about = console.get("browse")
    assert about["has_index"]
    assert about["pages"] > 5
    types = {each["short"]: each["uses"] for each in about["types"]}
    assert sum(types.values()) > 5
    kind = about["types"][0]["short"]
    found = console.get("search", words="", type=kind)
    assert found["matches"] >= about["types"][0]["uses"]
    assert all(kind in [each["short"] for each in row["types"]] for row in found["results"])
    thing = found["results"][0]
    again = console.get("search", words=thing["name"], type=kind)
    assert thing["subject"] in [row["subject"] for row in again["results"]]


def test_a_thing_has_its_pages_times_and_records(console: Console) -> None:
    found = console.until(lambda: console.get("thing", iri=f"{SEED}#it"))
    (page,) = found["pages"]
    assert page["page"] == SEED
    assert page["fetches"][0]["time"]
    assert page["record"]["file"].endswith((".warc.gz", ".open"))
    assert any(each["predicate"].endswith("name") for each in page["said"])
    whole = console.get("thing", page=SEED)
    assert whole["statements"] >= len(page["said"])
    status, body = get(console, f"/api/record?url={SEED}")
    assert status == 200
    assert body.startswith(b"HTTP/1.1 200")
    assert b"<html" in body


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/search", 400, "Give words"),
        ("/api/search?words=%22%22%22(((&offset=0", 400, "Give words"),
        ("/api/search?words=a&type=nope:X", 400, "prefix 'nope' is unknown"),
        ("/api/search?words=a&offset=-1", 400, "offset"),
        ("/api/search?words=a&offset=%C2%B2", 400, "offset"),
        ("/api/thing", 400, "Name a thing"),
        ("/api/thing?iri=http://a/%3E%7D%20DROP", 400, "not an IRI"),
        ("/api/thing?page=x", 400, "not an IRI"),
        ("/api/record?url=http://nowhere.test/", 400, "does not have"),
        ("/api/record?url=../../etc/passwd", 400, ""),
        ("/api/record?url=http://nowhere.test/&date=..%2F..", 400, "does not have"),
    ],
)
def test_what_is_wrong_has_a_sentence(console: Console, path: str, status: int, words: str) -> None:
    got, answer = get(console, path)
    assert got == status, answer
    assert words in answer["error"]


@pytest.mark.parametrize("path", ["/search", "/thing", "/api/search?words=a", "/api/record?url=x"])
def test_nothing_is_told_without_the_token(console: Console, path: str) -> None:
    response, _ = console.request("GET", path)
    assert response.status == 401


def test_it_works_in_a_browser_by_keyboard(browser: Browser, console: Console) -> None:  # noqa: F811
    watched = Watched(browser, console)
    page = watched.page
    watched.open("/search")
    page.locator("#words:focus").wait_for()  # one can type at once
    name = console.get("thing", iri=f"{SEED}#it")["pages"][0]["said"]
    (text,) = (each["values"][0]["value"] for each in name if each["predicate"].endswith("name"))
    page.keyboard.type(f'"{text}"')
    page.keyboard.press("Enter")
    page.locator(".result").first.wait_for()
    page.get_by_role("status").get_by_text("match").wait_for()
    page.locator(".result h3 a").first.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Said of it").or_(page.get_by_text("statements")).first.wait_for()
    page.get_by_role("link", name="the answer as it was").first.wait_for()
    watched.check()
