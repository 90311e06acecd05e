"""Every declared setting takes its default, as a value and as text, and refuses what it does not allow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rdfaspider.extract import FORMATS
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.service.server.partitions import ASSIGNMENTS, PARTITIONINGS
from rdfaspider.settings import syntax
from rdfaspider.settings.declarations import DECLARED, SECRETS, masked
from rdfaspider.settings.setting import Setting

SETTINGS = pytest.mark.parametrize("setting", DECLARED.values(), ids=lambda each: each.name)


def bad_values(setting: Setting) -> list[Any]:
    """Return values that a setting must refuse, by its kind and range."""
    bad: dict[str, list[Any]] = {
        "bool": ["maybe", "", "2", None, 3],
        "int": ["x", "", "1.5", 1.5, "nan", "1e3", True, [1], "9" * 30, float("inf")],
        "float": ["x", "", "nan", "inf", float("inf"), True, [1.0], "1e300"],
        "text": [3, None, ["a"]],
        "url": [3, None, "mongo://host/"],
        "choice": ["no such choice", "", None, 3],
        "list": [3, None, {"a": 1}],
        "dict": ["x", "[1]", 3, None, "{"],
    }
    values = bad[setting.kind]
    if setting.optional:
        values = [value for value in values if value not in (None, "")]
    if setting.least is not None:
        values = [*values, setting.least - 1, str(setting.least - 1)]
    if setting.above is not None:
        values = [*values, setting.above, str(setting.above), -1]
    if setting.most is not None:
        values = [*values, setting.most + 1]
    if setting.kind == "list" and setting.choices:
        values = [*values, "no such choice"]
    return values


@SETTINGS
def test_a_bad_value_gets_a_sentence_with_name_value_and_what_is_allowed(setting: Setting) -> None:
    for value in bad_values(setting):
        with pytest.raises(ValueError, match=rf"^{setting.name}.* is wrong: .*[^.]\.$") as error:
            setting.read(value)
        sentence = str(error.value)
        assert "\n" not in sentence
        assert "convert" not in sentence
        if setting.name in SECRETS:
            assert f"{setting.name}=x" not in sentence
        elif value not in ("", None):
            assert sentence.startswith(f"{setting.name}={value} is wrong")
        if setting.kind not in ("url", "int", "float"):
            assert setting.allowed in sentence


@SETTINGS
def test_the_default_is_allowed_as_it_is_and_as_text(setting: Setting) -> None:
    default = setting.default
    assert setting.read(default) == default
    text = json.dumps(default) if isinstance(default, list | dict) else str(default)
    assert setting.read(text) == default


@SETTINGS
def test_a_setting_says_what_it_does_in_a_sentence(setting: Setting) -> None:
    assert setting.text[0].isupper() and setting.text.endswith(".")
    assert "|" not in setting.text


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("FRONTIER_OBJECTIVE", "type:Recipe", "write any, new"),
        ("FRONTIER_URL", "redis://:p/w@host:port/0", "in a password"),
        ("FRONTIER_URL", "", "the path of a directory"),
        ("STORE_URL", "rdf4j+ftp://host/", "rdf4j+http://"),
        ("STORE_URL", "gsp+http://", "rdf4j+http://"),
        ("STORE_URL", "nquads:", "nquads:DIRECTORY"),
        ("STORE_TOKEN", "a\nb", "printable ASCII"),
        ("STORE_HEADERS", '{"X-Key": 1}', "a dictionary of texts"),
        ("STORE_CERTIFICATES", "no.pem", "cannot be read (No such file"),
        ("POLITENESS_CONTACT", "a\nb", "one line"),
        ("FILTER_DROP", "nonsense", "Not a rule"),
        ("RESOLVER_ALLOW", "10.0.0.0/99", "neither an address"),
        ("URLS_ACCEPT", "colour:red", "Not a rule"),
        ("URLS_REJECT", "regex:(", "Not a regular expression"),
        ("URLS_TRANSFORMS", "a,b", "Not a transform (DIRECTORY_INDEX, WWW): 'a'"),
        ("URLS_TRANSFORMS", "[1]", "a list of names and pairs"),
        ("URLS_TRANSFORMS", '[["(", ""]]', "Not a transform"),
        ("URLS_TRAPS", '{"repeat": 0}', "'repeat' is not a rule"),
        ("URLS_TRAPS", '{"repeats": "x"}', "a whole number"),
    ],
)
def test_what_a_value_must_look_like(name: str, value: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}") as error:
        DECLARED[name].read(value)
    assert words in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("EXTRACT_FORMATS", "rdfa, jsonld", ["rdfa", "jsonld"]),
        ("EXTRACT_FORMATS", '["rdfa"]', ["rdfa"]),
        ("RESOLVER_ALLOW", "[::1]:8080,127.0.0.1", ["[::1]:8080", "127.0.0.1"]),
        ("RESOLVER_ALLOW", "", []),
        ("URLS_REJECT", '["regex:a{1,2}"]', ["regex:a{1,2}"]),
        ("URLS_TRANSFORMS", '[["/amp/$", "/"]]', [["/amp/$", "/"]]),
        ("URLS_TRANSFORMS", "www, DIRECTORY_INDEX", ["www", "DIRECTORY_INDEX"]),
        ("POLITENESS_SERVER_DELAY", "None", None),
        ("POLITENESS_SERVER_DELAY", "2", 2.0),
        ("LOG_LEVEL", "debug", "DEBUG"),
        ("FRONTIER_WAIT", "1", True),
        ("FRONTIER_RETRIES", 3.0, 3),
    ],
)
def test_text_gets_its_type(name: str, value: object, read: object) -> None:
    assert DECLARED[name].read(value) == read


def test_the_choices_are_those_of_the_code() -> None:
    assert DECLARED["FRONTIER_ORDER"].choices == tuple(ORDERS)
    assert DECLARED["FRONTIER_PARTITIONING"].choices == tuple(PARTITIONINGS)
    assert DECLARED["FRONTIER_ASSIGNMENT"].choices == tuple(ASSIGNMENTS)
    assert set(DECLARED["EXTRACT_FORMATS"].choices) == FORMATS


def test_secrets_are_never_shown() -> None:
    assert {
        "CONSOLE_TOKEN",
        "STORE_PASSWORD",
        "STORE_TOKEN",
        "STORE_HEADERS",
        "STORE_URL",
        "FRONTIER_SECRET",
        "SEEDS_URL",
        "FRONTIER_URL",
    } == SECRETS
    assert masked("STORE_PASSWORD", "geheim") == "…"
    assert masked("STORE_PASSWORD", "") == ""
    assert masked("STORE_HEADERS", {"X-Key": "geheim"}) == "…"
    assert masked("STORE_URL", "rdf4j+http://me:geheim@host/r") == "rdf4j+http://…@host/r"
    assert masked("FRONTIER_URL", "redis://:geheim@host/0") == "redis://…@host/0"
    assert masked("BOT_NAME", "rdfaspider") == "rdfaspider"
    for name, value in (
        ("STORE_HEADERS", "geheim"),
        ("STORE_TOKEN", "geheim\n"),
        ("STORE_PASSWORD", ["geheim"]),
        ("STORE_URL", "ftp://me:geheim@host/"),
        ("FRONTIER_URL", "redis://:geheim@host:port/0"),
    ):
        with pytest.raises(ValueError, match=name) as error:
            DECLARED[name].read(value)
        assert "geheim" not in str(error.value)


@pytest.mark.parametrize("name", ["FRONTIER_URL", "SEEDS_URL"])
def test_without_redis_a_sentence_says_how_to_get_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syntax, "find_spec", lambda module: None)
    with pytest.raises(ValueError, match=r"pip install 'rdfaspider\[redis\]'\.$"):
        DECLARED[name].read("redis://host:6379/0")
