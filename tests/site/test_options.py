from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.site.parameters import Parameters, add_options, read_options

PARAMETERS = st.builds(
    Parameters,
    seed=st.integers(),
    hosts=st.integers(1, 10**9),
    levels=st.integers(0, 60),
    skew=st.floats(0, 1),
    looping=st.floats(0, 1),
    languages=st.sampled_from([("en",), ("ja", "de")]),
    sitemaps=st.booleans(),
    agent=st.sampled_from(["", "rdfaspider"]),
)


def parse(*words: str) -> Parameters:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return read_options(parser.parse_args(words))


def options(parameters: Parameters) -> list[str]:
    """Return the options that give these parameters."""
    found = []
    for knob in fields(Parameters):
        name, value = "--" + knob.name.replace("_", "-"), getattr(parameters, knob.name)
        if isinstance(value, bool):
            found.append(name if value else name.replace("--", "--no-", 1))
        else:
            found.append(f"{name}={','.join(value) if isinstance(value, tuple) else value}")
    return found


def test_no_options_are_the_defaults() -> None:
    assert parse() == Parameters()


@given(PARAMETERS)
def test_options_lead_back_to_the_parameters(parameters: Parameters) -> None:
    assert parse(*options(parameters)) == parameters


@pytest.mark.parametrize("knob", fields(Parameters), ids=lambda knob: knob.name)
def test_every_parameter_has_an_option(knob: Any) -> None:
    others: dict[type, Any] = {int: 7, float: 0.01, str: "abc", tuple: ()}
    others[bool] = not knob.default
    if isinstance(knob.default, tuple):
        others[tuple] = knob.default[-1:]
    parameters = Parameters(**{knob.name: others[type(knob.default)]})
    assert parameters != Parameters()
    assert parse(*options(parameters)) == parameters


def test_help_tells_defaults_and_reasons() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    text = " ".join(parser.format_help().split())
    assert "--links-across N links from each page to pages of other hosts" in text
    assert "(default en,de,fr)" in text
