"""The test cases of the WHATWG, RFC 3986 and crawler-commons, and where we differ on purpose."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.urls import Filters, normalise

# By number of case; docs/urls.md tells the same.
DIFFERENCES = {
    "an empty query goes with its mark": "0037 0706 0791 0795 1039",
    "escapes are in upper case and unreserved characters decoded, which the WHATWG leaves": (
        "0109 0110 0151 0152 0162 0164 0166 0180"
    ),
    "the order and the empty parts of a query stay": "1129 1131 1132 1135 1137 1139 1140 1141 1142",
    "empty path segments stay": "1092 1094 1095 1096 1097",
    "a stray percent sign stays": "1107 1110 1116 1117",
    "[ ] ` | are sent as browsers send them": "1065 1114 1115 1161",
    "the last dot of a host stays": "1125",
    "there is no http URL without a host": "1102",
}

# How many cases of each source agree. They only rise.
FLOORS = {
    "wpt/urltestdata": 701,
    "wpt/toascii": 69,
    "rfc3986": 48,
    "crawler-commons/normalizer": 82,
}

Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases(vectors: Path) -> list[Case]:
    found: list[Case] = json.loads((vectors / "urls.json").read_text())
    return found


def agrees(case: Case, filters: Filters | None = None) -> bool:
    """Tell whether we answer as the case expects, but for the fragment, which we never keep.

    A case that must fail, and one that is no http(s) URL, must be refused.
    """
    wanted = [] if case.get("failure") or not case["web"] else [case["expected"]]
    try:
        url = normalise(case["input"], case["base"])
    except ValueError:
        return not wanted
    if filters:
        url, _ = filters.admit(url)
    return url in [answer.partition("#")[0] for answer in [*wanted, *case.get("also_ok", ())]]


def test_all_cases_but_the_deliberate_ones_agree(cases: list[Case]) -> None:
    different = {case["id"] for case in cases if not case.get("optional") and not agrees(case)}
    assert different == {f"u{number}" for ids in DIFFERENCES.values() for number in ids.split()}


def test_agreement_by_source_does_not_fall(cases: list[Case]) -> None:
    filters = Filters()
    agreeing = Counter(
        case["source"] for case in cases if agrees(case, filters if case.get("optional") else None)
    )
    assert {source for source, floor in FLOORS.items() if agreeing[source] < floor} == set()


def test_filters_remove_session_ids_as_crawler_commons_does(cases: list[Case]) -> None:
    optional = [case for case in cases if case.get("optional")]
    assert len(optional) == 3
    assert [case["input"] for case in optional if not agrees(case, Filters())] == []


def test_filters_sort_the_query_as_crawler_commons_does(cases: list[Case]) -> None:
    filters = Filters(sort_query=True)
    sorting = [case for case in cases if case["id"] in {"u1129", "u1131", "u1132", "u1137"}]
    assert [case["input"] for case in sorting if not agrees(case, filters)] == []


def test_rfc3986_section_5_4(cases: list[Case]) -> None:
    joins = [case for case in cases if case["group"].startswith("5.4")]
    assert len(joins) == 34
    assert [case["input"] for case in joins if not agrees(case)] == []
