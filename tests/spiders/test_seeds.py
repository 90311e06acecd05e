from __future__ import annotations

import io
from pathlib import Path

import pytest
from scrapy.exceptions import UsageError

from rdfaspider.spiders.seeds import read_seeds


def test_urls_are_split_at_commas_before_a_url_only() -> None:
    seeds = read_seeds("http://a.test/x,y,HTTP://B.test/, https://c.test")
    assert seeds.urls == ("http://a.test/x,y", "http://b.test/", "https://c.test/")


def test_a_file_has_a_url_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text(
        "\ufeff# seeds\nhttp://a.test/\n\n  http://a.test/#again\nftp://b.test/\nnonsense\n"
    )
    seeds = read_seeds(str(file))
    assert seeds.urls == ("http://a.test/",)
    assert seeds.bad == 2
    assert f"ftp://b.test/ in {file}, line 5" in caplog.text
    assert f"nonsense in {file}, line 6" in caplog.text


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("http://a.test/\n"))
    assert read_seeds("-").urls == ("http://a.test/",)


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        (None, "No seeds: say where to start"),
        ("", "No seeds: say where to start"),
        ("missing.txt", "missing.txt is neither a URL .* nor a file .*No such file"),
        ("/", "neither a URL .* nor a file"),
        ("http://[bad", "No usable seed"),
        ("example.org", "begins with http"),
        ("crawl:", "names no directory: write crawl:DIRECTORY"),
        ("crawl:nowhere", "There is no crawl in nowhere: it has neither a frontier nor a store"),
        ("crawl:nowhere?most=0", "wrong after the question mark"),
        ("crawl:nowhere?most=many", "wrong after the question mark"),
        ("crawl:nowhere?least=3", "wrong after the question mark"),
    ],
)
def test_what_is_wrong_is_said(argument: str | None, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_seeds(argument)
