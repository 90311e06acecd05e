"""What the spider remembers, and shares with the other workers of a crawl."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from rdfaspider.spiders import rdfa
from rdfaspider.spiders.rdfa import RdfaSpider


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the servers that the resolver is told to allow; the real one belongs to a reactor."""
    urls: list[str] = []

    def allow_seeds(more: Iterable[str]) -> None:
        urls.extend(more)

    resolver = SimpleNamespace(allow_seeds=allow_seeds)
    monkeypatch.setattr(rdfa, "installed_resolver", lambda: resolver)
    return urls


def test_what_a_crawl_remembers_it_recalls(allowed: list[str]) -> None:
    seeds = "http://127.0.0.1:8000/a,http://127.0.0.1:8000/b,https://10.0.0.1/,http://a.test/"
    one, other = RdfaSpider(seeds), RdfaSpider(None, seeds_may_come_later=True)
    assert not allowed, "not before the crawl is open"
    other.recall(one.memory)
    assert sorted(allowed) == ["http://10.0.0.1:443/", "http://127.0.0.1:8000/"]
    assert "http://a.test/x" in other.scope
    assert json.loads(other.memory) == json.loads(one.memory)
    other.recall(one.memory)
    assert len(allowed) == 2, "each is allowed once"


def test_what_others_can_write_opens_no_server(allowed: list[str]) -> None:
    seeds = "http://127.0.0.1:8000/,http://a.test/"
    mine, shared = RdfaSpider(seeds), RdfaSpider(None, seeds_may_come_later=True)
    shared._trusts_memory = False
    shared.recall(mine.memory)
    assert "http://127.0.0.1/x" in shared.scope
    assert not allowed
    assert "servers" not in json.loads(shared.memory)
