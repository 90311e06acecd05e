"""The cases of nine public test suites: those in the RFC, beyond it, and against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Agrees = Callable[[Case], bool]

# What other parsers do beyond RFC 9309 and ours does not, with the reason.
DECLINED = {
    "big-crawl-delay": "a long delay is for the caller to cap, it forbids nothing",
    "missing-colon-ignored": "contradicts missing-colon, which has more cases and is stricter",
    "special-chars-dual": "a $ at the end is the end; a literal one is written %24",
    "ua-digits": "cutting AB42bot to AB frees AB42bot from the rules that name it",
    "ua-prefix-match": "RFC 9309 section 2.2.1 wants equal tokens: Foo is not Foo-News",
    "ua-wildcard": "no name is a pattern, by the same section",
}
# An agent called `Foo Bar` has two names and so obeys a group of that name.
DECLINED_CASES = {"r0041"}


def test_core_cases_all_pass(cases: list[Case], agrees: Agrees) -> None:
    core = [case for case in cases if case["conformance"] == "core"]
    assert len(core) > 1000
    assert [case["id"] for case in core if not agrees(case)] == []


def test_extensions_pass_but_for_those_declined(cases: list[Case], agrees: Agrees) -> None:
    extensions = [case for case in cases if case["conformance"] == "extension"]
    failed = [case for case in extensions if not agrees(case)]
    undeclared = [
        (case["id"], case["extension"])
        for case in failed
        if case["extension"] not in DECLINED and case["id"] not in DECLINED_CASES
    ]
    assert undeclared == []
    assert {case["extension"] for case in failed} >= DECLINED.keys()  # none is declined for nothing


def test_cases_against_the_rfc_get_its_answer_instead(cases: list[Case], agrees: Agrees) -> None:
    contradicting = [case for case in cases if case["conformance"] == "contradicts"]
    assert contradicting
    assert [case["id"] for case in contradicting if agrees(case)] == []
