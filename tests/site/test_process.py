from __future__ import annotations

from pathlib import Path
from urllib.request import ProxyHandler, build_opener, urlopen

import pytest

from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

PARAMETERS = Parameters(hosts=5, changing=1.0, period=1000.0)


def test_a_server_of_its_own_shows_the_same_web(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # wherever it is started
    with running(PARAMETERS, start=5000.0, log=tmp_path / "log") as server:
        proxy = build_opener(ProxyHandler({"http": server}))
        with proxy.open("http://w3.site.test/books") as response:
            body = response.read()
    assert body == answer(Web(PARAMETERS), "http://w3.site.test/books", 5001.0).body
    assert (tmp_path / "log").read_text().endswith("GET http://w3.site.test/books 200\n")
    with pytest.raises(OSError, match="refused"):
        urlopen(server)


def test_a_server_that_cannot_start_says_why() -> None:
    with running(Parameters()) as server:
        port = int(server.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), running(Parameters(), port=port):
            pass
