from __future__ import annotations

import pytest

from rdfaspider.urls.sessions import path_without_sessions, query_without_sessions


@pytest.mark.parametrize(
    "parameter",
    [
        "PHPSESSID=2Aa3ASdfasfdadf",
        "phpsessid=",
        "JSESSIONID=ABC!123!456",
        "ASPSESSIONIDSCQCTTCD=ODKEHAHBKDKCJPENHHCJOMJK",
        "osCsid=q1",
        "zenid=q1",
        "sid=fdkl9cv1nqqu0d5mvm1pq3g4s6",
        "SID=0123456789abcdef0123456789abcdef",
        "sessionid=0f3c1a52-9c1f-4f8e-8e5c-0123456789ab",
        "session_id=a1b2c3d4e5f6a7b8",
        "sid=4f6c9a01",
        "_sessionid=0123456789abcdef0123456789abcdef",
    ],
)
def test_session_ids_go(parameter: str) -> None:
    assert query_without_sessions(["a=1", parameter, "b"]) == ["a=1", "b"]
    assert path_without_sessions(f"http://a/b;{parameter};c/d") == "http://a/b;c/d"


@pytest.mark.parametrize(
    "parameter",
    [
        "sid=42",  # an article
        "sid=1234567890123456",
        "sid=12345678",
        "sid=deadbeef",
        "sid=a1b2c3d",
        "sid=a1b2c3d4e5f6g7h",
        "session=keynotes",
        "sessionid=2024-opening-of-the-fair",
        "session=abcdefghijklmnopqrstuvwxyz",
        "cfid=7",
        "side=0123456789abcdef0123456789abcdef",
        "q=phpsessid",
        "s=0123456789abcdef0123456789abcdef",
    ],
)
def test_what_may_choose_a_page_stays(parameter: str) -> None:
    assert query_without_sessions(["a=1", parameter, "b"]) == ["a=1", parameter, "b"]
    assert path_without_sessions(f"http://a/b;{parameter};c/d") == f"http://a/b;{parameter};c/d"


def test_a_session_id_may_follow_a_semicolon_of_the_query() -> None:
    parameters = ["a=1;jsessionid=A1B2", "b=1;2;sid=4f6c9a01;c"]
    assert query_without_sessions(parameters) == ["a=1", "b=1;2;c"]


def test_cold_fusion_numbers_go_together() -> None:
    assert query_without_sessions(["CFID=7", "a=1", "CFTOKEN=87654321"]) == ["a=1"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("http://a/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "http://a/orders.aspx"),
        ("http://a/x/(A(abc)S(def))/y", "http://a/x/y"),
        ("http://a/(S(abc))", "http://a/(S(abc))"),
        ("http://a/Alice_(S(abc))/", "http://a/Alice_(S(abc))/"),
        ("http://a/(disambiguation)/", "http://a/(disambiguation)/"),
    ],
)
def test_asp_net_sessions_are_segments(path: str, expected: str) -> None:
    assert path_without_sessions(path) == expected
