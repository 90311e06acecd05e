"""Seeds on their way into the frontier."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.frontier import FrontierUnavailable, open_frontier
from rdfaspider.scheduler.intake import Intake

if TYPE_CHECKING:
    from tests.conftest import Scrapy

URLS = [f"http://h{number % 50}.test/{number}" for number in range(5_000)]


async def take(intake: Intake, urls: list[str]) -> None:
    async for _ in intake.take(urls):
        pass


def test_all_are_taken_in_and_that_is_noted(tmp_path: Path) -> None:
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        intake = Intake(frontier)
        intake.expect(URLS)
        assert intake.was_cut_short, "until all are in"
        asyncio.run(take(intake, URLS))
        assert frontier.counts().seen == len(URLS)
        assert not intake.was_cut_short
        assert not intake.is_busy


def test_a_batch_that_cannot_be_written_is_not_forgotten(tmp_path: Path) -> None:
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        failing = FailsOnce(frontier)
        intake = Intake(failing)  # type: ignore[arg-type]
        with pytest.raises(FrontierUnavailable):
            asyncio.run(take(intake, URLS))
        assert intake.was_cut_short
        intake.finish()
        assert frontier.counts().seen == len(URLS)
        assert not intake.was_cut_short


class FailsOnce:
    """A frontier whose second write fails, as a full disk makes it."""

    def __init__(self, frontier: Any) -> None:
        self._frontier = frontier
        self._writes = 0

    def put(self, urls: Any, contexts: Any) -> None:
        self._writes += 1
        if self._writes == 2:
            raise FrontierUnavailable("no room")
        self._frontier.put(urls, contexts=contexts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)


def test_a_crawl_that_stopped_before_it_had_seeds_asks_for_them(scrapy: Scrapy) -> None:
    begun = scrapy("crawl", "rdfa", "-a", "seeds=http://127.0.0.1:8/", EXTRACT_MEMORY_MB=10)
    assert begun.returncode == 1
    assert "MemoryError" in begun.stderr or "memory" in begun.stderr.lower()
    resumed = scrapy("crawl", "rdfa")
    assert resumed.returncode == 1
    assert "No seeds" in resumed.stderr
    assert "Traceback" not in resumed.stderr
