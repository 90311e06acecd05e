"""Parameters <-> command line: one option for each parameter, `links_inside` as --links-inside."""

from __future__ import annotations

import argparse
from dataclasses import fields

from rdfaspider.site.parameters import Parameters


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for each parameter, with its default and its reason as help."""
    group = parser.add_argument_group("the generated web")
    for knob in fields(Parameters):
        name, default = _option(knob.name), knob.default
        text = str(knob.metadata["reason"])
        if isinstance(default, bool):
            group.add_argument(
                name, action=argparse.BooleanOptionalAction, default=default, help=text
            )
        elif isinstance(default, tuple):
            shown = ",".join(default)
            group.add_argument(
                name, type=_names, default=default, metavar="A,B", help=f"{text} (default {shown})"
            )
        else:
            kind = type(default)
            shown = str(default) or "none"
            group.add_argument(
                name,
                type=kind,
                default=default,
                metavar={int: "N", float: "X", str: "TEXT"}[kind],
                help=f"{text} (default {shown})",
            )


def read(options: argparse.Namespace) -> Parameters:
    """Return the parameters among parsed options, ValueError if they do not fit together."""
    return Parameters(**{knob.name: getattr(options, knob.name) for knob in fields(Parameters)})


def write(parameters: Parameters) -> list[str]:
    """Return the options that give these parameters, leaving out the defaults."""
    options = []
    for knob in fields(Parameters):
        value = getattr(parameters, knob.name)
        if value == knob.default:
            continue
        name = _option(knob.name)
        if isinstance(value, bool):
            options.append(name if value else name.replace("--", "--no-", 1))
        else:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            options.append(f"{name}={text}")
    return options


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
