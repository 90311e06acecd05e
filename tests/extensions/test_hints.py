"""Commands that are printed for users to paste."""

from __future__ import annotations

import pytest

from rdfaspider.extensions.summary.hints import CommandLine
from rdfaspider.secrets import is_secret, secrets_of, shell_assignment, without_secrets

PYTHON = "/usr/bin/python3"


def resumed(*words: str) -> str:
    hint = CommandLine([PYTHON, "/opt/venv/bin/scrapy", "crawl", "rdfa", *words]).resume()
    assert hint
    return hint.command.removeprefix("/opt/venv/bin/scrapy crawl rdfa").strip()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-a", "seeds=-", "-a", "depth=3"], "-a depth=3"),
        (["-aseeds=http://a.test/", "-sJOBDIR=my crawl"], "-s 'JOBDIR=my crawl'"),
        (["--set=STORE_PASSWORD=hunter2"], '-s STORE_PASSWORD="$STORE_PASSWORD"'),
        (["--set", "STORE_TOKEN=hunter2"], '-s STORE_TOKEN="$STORE_TOKEN"'),
        (["-s", 'STORE_HEADERS={"X-Key":"hunter2"}'], '-s STORE_HEADERS="$STORE_HEADERS"'),
        (["-a", "password=hunter2"], '-a password="$password"'),
        (
            ["-s", "FRONTIER_URL=redis://:hunter2@10.0.0.1:6379/0"],
            '-s FRONTIER_URL="redis://:${FRONTIER_URL_PASSWORD}@10.0.0.1:6379/0"',
        ),
        (
            ["-s", "FRONTIER_URL=redis://a.test/0?password=hunter2&crawl=x"],
            '-s FRONTIER_URL="redis://a.test/0?password=${FRONTIER_URL_PASSWORD}&crawl=x"',
        ),
        (
            ["-s", "STORE_URL=rdf4j+http://me:hunter2@a.test/$x"],
            '-s STORE_URL="rdf4j+http://me:${STORE_URL_PASSWORD}@a.test/\\$x"',
        ),
        (["-O", "items.jl"], "-o items.jl"),
        (["-O", "items.json"], "-o items-resumed.json"),
        (["-o", "ftp://me:hunter2@a.test/x.jl"], '-o "ftp://me:${OUTPUT_PASSWORD}@a.test/x.jl"'),
        (["-L", "DEBUG", "--nolog"], "-L DEBUG --nolog"),
    ],
)
def test_a_crawl_is_resumed_by_its_own_command_without_seeds_and_secrets(
    words: list[str], shown: str
) -> None:
    assert resumed(*words) == shown


def test_variables_are_named() -> None:
    line = CommandLine([PYTHON, "scrapy", "crawl", "rdfa", "-s", "STORE_PASSWORD=hunter2"])
    assert "first set $STORE_PASSWORD" in str(line.resume())


def test_a_query_is_told_where_the_store_is_and_nothing_else() -> None:
    words = ["-s", "JOBDIR=x", "-s", "STORE_URL=nquads:out", "-s", "FRONTIER_RETRIES=1"]
    hint = CommandLine([PYTHON, "scrapy", "crawl", "rdfa", *words]).of_store("sparql", "ASK {}")
    assert hint
    assert hint.command == "scrapy sparql -s JOBDIR=x -s STORE_URL=nquads:out 'ASK {}'"


@pytest.mark.parametrize(
    "argv",
    [
        [PYTHON, "-m", "scrapyd.runner", "crawl", "rdfa", "-s", "JOBDIR=x"],
        [PYTHON, "my_script.py"],
        [PYTHON],
        [],
    ],
)
def test_a_process_that_no_command_starts_has_no_command(argv: list[str]) -> None:
    assert CommandLine(argv).resume() is None


def test_a_module_is_run_as_it_was() -> None:
    hint = CommandLine(["/no/such/python", "-m", "rdfaspider", "crawl", "rdfa"]).resume()
    assert hint
    assert hint.command == "/no/such/python -m rdfaspider crawl rdfa"


@pytest.mark.parametrize(
    "name",
    ["STORE_PASSWORD", "HTTPAUTH_PASS", "password", "pass", "AWS_SECRET_ACCESS_KEY"],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert secrets_of(name, "hunter2") == {"hunter2"}
    assert "hunter2" not in shell_assignment(name, "hunter2")[0]


@pytest.mark.parametrize(
    "name", ["STORE_PASSWORD_FILE", "FRONTIER_URL", "seeds", "COOKIES_ENABLED"]
)
def test_names_of_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_urls_are_shown_without_secrets() -> None:
    assert without_secrets("redis://:p@ss@h:1/0?password=x&a=b") == "redis://…@h:1/0?password=…&a=b"
    assert without_secrets("redis://:p/a@h:1/0") == "redis://…@h:1/0"
