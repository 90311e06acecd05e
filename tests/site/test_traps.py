from __future__ import annotations

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web

ROOT = "http://w0.site.test"
TRAPS = Web(Parameters(calendar=1.0, repeating=1.0, sessions=1.0))


def links(url: str) -> list[str]:
    page = TRAPS.page(url)
    assert page
    return page.links


def test_a_clean_web_has_no_traps() -> None:
    web = Web(Parameters())
    for path in ("/calendar/2026/01", "/archive/more", "/books?sid=01234567"):
        assert web.page(ROOT + path) is None


def test_the_calendar_has_no_end() -> None:
    assert "/calendar/2026/01" in links(f"{ROOT}/")
    assert links(f"{ROOT}/calendar/2026/01") == ["/", "/calendar/2025/12", "/calendar/2026/02"]
    path = "/calendar/2026/01"
    for _ in range(1000):
        path = links(ROOT + path)[-1]
    assert path == "/calendar/2109/05"


def test_the_calendar_knows_no_other_months() -> None:
    for path in ("/calendar/2026/13", "/calendar/2026/00", "/calendar/2026/1", "/calendar"):
        assert TRAPS.page(ROOT + path) is None
    for path in ("/calendar/9999/12", "/calendar/0000/01"):
        assert all(TRAPS.page(ROOT + link) for link in links(ROOT + path))


def test_segments_repeat_without_end() -> None:
    assert "/archive/more" in links(f"{ROOT}/")
    path = "/archive/more"
    for _ in range(50):
        path = links(ROOT + path)[-1]
    assert path == "/archive" + "/more" * 51


def test_session_ids_lead_to_the_same_page_under_ever_new_urls() -> None:
    url, seen = f"{ROOT}/books", set()
    plain = TRAPS.page(url)
    assert plain
    for _ in range(100):
        seen.add(url)
        page = TRAPS.page(url)
        assert page
        assert page.things == plain.things
        url = ROOT + page.links[-1]
        assert url.startswith(f"{ROOT}/books?sid=")
    assert len(seen) == 100


def test_a_share_of_hosts_has_a_trap() -> None:
    web = Web(Parameters(hosts=1000, calendar=0.3))
    trapped = sum(web.traps.has("calendar", host) for host in range(1000))
    assert 250 < trapped < 350
