"""Mistakes as a user makes them: each gets its sentence, ends at once, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PROJECT = Path(__file__).parent.parent.parent
CRAWL = ("crawl", "rdfa", "-a", "seeds=http://127.0.0.1:8/")


def assert_refused(
    result: subprocess.CompletedProcess[str], sentences: list[str], directory: Path
) -> None:
    """Check that a run ended with these sentences, a line each, and nothing else but Scrapy's greeting."""
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stderr.splitlines() if " INFO Scrapy " not in line]
    assert [line.partition(": ")[2] for line in lines] == sentences
    assert all(line.startswith("scrapy") for line in lines)
    assert result.stdout == ""
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("FRONTIER_RETRIES=x", "it must be a whole number of retries from 0 to 100."),
        ("EXTRACT_PROCESSES=-1", "it must be a whole number of processes from 0 to 1024."),
        ("POLITENESS_DELAY=-1", "it must be a number of seconds, at least 0."),
        ("POLITENESS_AT_ONCE=0", "it must be a whole number of fetches from 1 to 1024."),
        ("EXTRACT_MAX_LINKS=abc", "it must be a whole number of links, at least 0."),
        ("LOG_LEVEL=loud", "it must be one of CRITICAL, ERROR, WARNING, INFO, DEBUG."),
        ("CLOSESPIDER_TIMEOUT=1h", "it must be a number of seconds, at least 0."),
        ("JOBDIR=/proc/crawl", "/proc cannot be written (No such file or directory)."),
        ("JOBDIR=/dev/null", "it is not a directory."),
    ],
)
def test_a_wrong_value(scrapy: Scrapy, tmp_path: Path, given: str, sentence: str) -> None:
    result = scrapy(*CRAWL, "-s", given)
    assert_refused(result, [f"{given} is wrong: {sentence}"], tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("-s", "FRONTIER_TOPICS=nofile.txt"),
            "FRONTIER_TOPICS is wrong: nofile.txt cannot be read (No such file or directory).",
        ),
        (
            ("-s", "FRONTIER_RETRYS=3"),
            "FRONTIER_RETRYS is not a setting: did you mean FRONTIER_RETRIES?",
        ),
        (
            ("-a", "dept=1"),
            "dept is not an argument of the spider rdfa: did you mean depth?",
        ),
        (
            ("-s", "HTTPAUTH_USER=ann"),
            "HTTPAUTH_USER needs HTTPAUTH_DOMAIN, the domain that the password is sent to: for example"
            " -s HTTPAUTH_DOMAIN=example.org.",
        ),
        (("-a", "depth=300"), "depth=300 is too deep: it must be between 0 and 250."),
        (
            ("-s", "STORE_URL=ftp://me:geheim@host/"),
            "STORE_URL=ftp://…@host/ is wrong: it must be the path of a directory, rdf4j+http://…,"
            " gsp+http://…, update+http://…, nquads:DIRECTORY or"
            " python:package.module.Name:PLACE.",
        ),
    ],
)
def test_another_mistake(
    scrapy: Scrapy, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    assert_refused(scrapy(*CRAWL, *arguments), [sentence], tmp_path)


def test_all_mistakes_are_told_at_once(scrapy: Scrapy, tmp_path: Path) -> None:
    result = scrapy(*CRAWL, FRONTIER_WAIT="maybe", FRONTIER_DEPTH=300)
    sentences = [
        "FRONTIER_DEPTH=300 is wrong: it must be a whole number of links from 0 to 250.",
        "FRONTIER_WAIT=maybe is wrong: it must be 1 or 0 (True or False).",
    ]
    assert_refused(result, sentences, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        ("frontier",),
        ("export",),
        ("report",),
        ("sparql", "ASK {}"),
        ("seeds", "list"),
        ("extract", "page.html"),
    ],
)
def test_other_commands_check_the_settings_too(
    scrapy: Scrapy, tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = scrapy(*command, STORE_TIMEOUT=0)
    sentence = "STORE_TIMEOUT=0 is wrong: it must be a number of seconds above 0."
    assert_refused(result, [sentence], tmp_path)
    assert result.stderr.startswith(f"scrapy {command[0]}: ")


SPIDER = """
from rdfaspider.spiders import RdfaSpider

class OwnSpider(RdfaSpider):
    name = "own"
    custom_settings = {"POLITENESS_AT_ONCE": 0}
"""


def test_runspider_checks_them_too(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path.parent / f"{tmp_path.name}_own.py"
    path.write_text(SPIDER)
    spider = ("runspider", str(path), "-a", "seeds=http://127.0.0.1:8/")
    result = scrapy(*spider, FRONTIER_DEPTH=-1)
    sentence = "FRONTIER_DEPTH=-1 is wrong: it must be a whole number of links from 0 to 250."
    assert_refused(result, [sentence], tmp_path)
    sentence = "POLITENESS_AT_ONCE=0 is wrong: it must be a whole number of fetches from 1 to 1024."
    assert_refused(scrapy(*spider), [sentence], tmp_path)


SCRIPT = """
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class PlainSpider(Spider):
    name = "plain"

process = AsyncCrawlerProcess({
    "ADDONS": {"rdfaspider.settings.addon.SettingsCheck": 0},
    "SCHEDULER": "rdfaspider.scheduler.Scheduler",
    "JOBDIR": "crawl",
    "LOG_LEVEL": "WARNING",
    "POLITENESS_DELAY": -1,
})
process.crawl(PlainSpider)
process.start()
"""


def test_another_project_gets_the_check_with_the_add_on(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    sentence = "POLITENESS_DELAY=-1 is wrong: it must be a number of seconds, at least 0."
    assert_refused(result, [sentence], tmp_path)
