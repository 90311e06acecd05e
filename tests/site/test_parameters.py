from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from rdfaspider.site.parameters import FATES, FORMATS, Parameters

SHARES = [knob.name for knob in fields(Parameters) if knob.metadata["share"]]


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_shares_are_between_0_and_1(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is a share"):
        Parameters(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"hosts": 0}, "at least one host"),
        ({"pages": 0}, "at least one child"),
        ({"pages": 10_001}, "pages must be at most 10,000"),
        ({"triples": -1}, "triples must not be negative"),
        ({"latency": float("inf")}, "latency must not be negative or endless"),
        ({"levels": 61}, "levels must be at most 60"),
        ({"addresses": 0}, "addresses must be between 1"),
        ({"slot": 0.0}, "longer than 0 seconds"),
        ({"languages": ()}, "languages must be among"),
        ({"languages": ("en", "xx")}, "got xx"),
        ({"scripts": ()}, "scripts must be among injected, manager"),
        ({"scripts": ("router", "xx")}, "got xx"),
        ({"domain": "Site.Test/"}, "domain must be a host name"),
        ({"agent": "two\nlines"}, "agent must be one word"),
        ({"rdfa": 0.9, "jsonld": 0.2}, "rdfa, jsonld, microdata must not exceed 1 together"),
        ({"missing": 0.6, "looping": 0.6}, "must not exceed 1 together"),
        ({"robots_missing": 0.6, "robots_broken": 0.6}, "must not exceed 1 together"),
    ],
)
def test_wrong_values_are_refused_with_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Parameters(**values)


def test_defaults_are_clean_and_every_page_has_triples() -> None:
    parameters = Parameters()
    assert not any(getattr(parameters, fate) for fate in FATES)
    assert sum(getattr(parameters, name) for name in FORMATS) == pytest.approx(1)


@pytest.mark.parametrize("knob", fields(Parameters), ids=lambda knob: knob.name)
def test_every_parameter_has_a_reason(knob: Any) -> None:
    assert knob.metadata["reason"]
