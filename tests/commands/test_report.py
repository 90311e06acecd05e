from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.extensions.history.report import Crawl, page, plot, summarise, table
from rdfaspider.extensions.history.samples import NAME, Sample, Samples, read
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

SVG = "{http://www.w3.org/2000/svg}"


def samples(seconds: int, rate: int = 10, step: int = 5) -> list[Sample]:
    """Make the history of a crawl of so many pages a second."""
    return [
        Sample(
            time=1e9 + at,
            run=1,
            seconds=float(at),
            pages=rate * at,
            seen=30 * at,
            waiting=20 * at,
            failed=at // 10,
            received=5_000 * at,
            quads=7 * rate * at,
            memory=100 + at // 60,
        )
        for at in range(0, seconds + 1, step)
    ]


def resumed(history: list[Sample], after: float, pages: int) -> list[Sample]:
    """Add a run that began so long after the one before, and had so many pages in 10 seconds."""
    last = history[-1]
    begun = last._replace(time=last.time + after, run=last.run + 1)
    ended = begun._replace(
        time=begun.time + 10, seconds=begun.seconds + 10, pages=begun.pages + pages
    )
    return [*history, begun, ended]


def write(directory: Path, history: list[Sample]) -> None:
    file = Samples(directory / NAME, 5.0)
    for sample in history:
        file.append(sample)


def test_a_crawl_in_numbers() -> None:
    summary = summarise(Crawl("crawl", resumed(samples(90), after=3_600, pages=600)))
    assert summary.seconds == 100
    assert (summary.resumes, summary.stopped_seconds) == (1, 3_600)
    assert (summary.pages, summary.pages_per_second) == (1_500, 15.0)
    assert (summary.peak_pages_per_second, summary.peak_seconds) == (60.0, 10.0)
    assert (summary.urls, summary.waiting, summary.failed) == (2_700, 1_800, 9)
    assert (summary.bytes, summary.bytes_per_second) == (450_000, 4_500.0)
    assert (summary.triples, summary.triples_per_page) == (6_300, 4.2)
    assert summary.peak_memory_mb == 101


def test_a_peak_is_no_accident_of_two_samples_that_are_close() -> None:
    history = samples(20)
    last = history[-1]
    hasty = last._replace(seconds=last.seconds + 0.1, pages=last.pages + 11)
    assert summarise(Crawl("crawl", [*history, hasty])).peak_pages_per_second < 13


@pytest.mark.parametrize("count", [1, 2])
def test_a_crawl_that_has_just_begun_has_a_report(count: int) -> None:
    crawl = Crawl("crawl", [Sample(1e9, 1, 0.0)] * count)
    assert summarise(crawl).pages_per_second == 0.0
    assert "never" in table([crawl])
    ElementTree.fromstring(plot([crawl]))


@pytest.mark.parametrize(
    ("seconds", "unit"), [(60, "seconds"), (600, "minutes"), (36_000, "hours"), (864_000, "days")]
)
def test_the_picture_has_a_curve_for_each_crawl_in_each_panel(seconds: int, unit: str) -> None:
    long, short = samples(seconds, step=seconds // 12), samples(60)
    root = ElementTree.fromstring(plot([Crawl("a<b", long), Crawl("c&d", short)]))
    assert len(list(root.iter(f"{SVG}polyline"))) == 8
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert words.count(f"{unit} of crawling") == 4
    assert {"pages/s", "URLs discovered", "bandwidth, bytes/s", "triples stored"} <= {*words}
    assert words[-2:] == ["a<b", "c&d"]
    assert "bandwidth, % of 10kB/s" in plot([Crawl("a", samples(60))], 10_000)
    assert "dashed" not in str(words[0])


def test_a_step_is_as_high_as_the_rate() -> None:
    root = ElementTree.fromstring(plot([Crawl("crawl", resumed(samples(90), 60, pages=50))]))
    curve = next(root.iter(f"{SVG}polyline")).attrib["points"].split()
    heights = [float(point.split(",")[1]) for point in curve]
    # 10 pages a second reach to the top, 5 half as high: the axis ends at 28 + 196.
    assert (heights[0], heights[-1]) == (28.0, 28 + 196 / 2)


def test_a_stop_is_cut_out_and_marked() -> None:
    history = resumed(samples(90), after=86_400, pages=100)
    picture = plot([Crawl("crawl", history)])
    assert picture.count("stroke-dasharray") == 4
    assert "dashed: stopped and resumed" in picture
    assert "seconds of crawling" in picture, "the day between is not in it"
    assert "once, stopped for 24:00:00" in table([Crawl("crawl", history)])
    for _ in range(50):
        history = resumed(history, after=60, pages=1)
    assert "dash" not in plot([Crawl("crawl", history)]), "so many would hide the curves"


def test_a_page_needs_nothing_else_and_believes_no_name() -> None:
    text = page([Crawl("<script>alert(1)</script>", samples(60))])
    assert "<script" not in text
    assert not re.search(r"(src|href)=|url\(|@import", text)
    assert text.count("<td>600</td>") == 1  # pages
    assert text.count("<svg") == 1


def test_crawls_are_compared(scrapy: Scrapy, tmp_path: Path) -> None:
    write(tmp_path / "crawl", samples(600))
    write(tmp_path / "other crawl", samples(300, rate=20))
    (tmp_path / "other crawl" / NAME).rename(tmp_path / "peer.jsonl")
    write(tmp_path / "third", samples(60))
    result = scrapy(
        "report", "--against", "peer.jsonl", "third", "--line", "20000", "-o", "all.json"
    )
    assert result.returncode == 0, result.stderr
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["crawl", "peer.jsonl", "third"]
    lines = {row[:19].strip(): row[19:].split() for row in rows}
    assert lines["time spent crawling"] == ["10:00", "5:00", "1:00"]
    assert lines["pages, all visits"] == ["6,000", "6,000", "600"]
    assert lines["pages/s, mean"] == ["10.00", "20.00", "10.00"]
    assert lines["bandwidth, mean"] == ["5kB/s", "5kB/s", "5kB/s"]
    assert lines["of the line"] == ["25%", "25%", "25%"]
    found = json.loads((tmp_path / "all.json").read_text())
    assert [crawl["name"] for crawl in found] == ["crawl", "peer.jsonl", "third"]
    assert found[1]["summary"]["peak_pages_per_second"] == 20.0
    assert found[2]["samples"][-1] == samples(60)[-1]._asdict()


@pytest.mark.slow
def test_the_end_that_a_limit_makes_is_foretold(scrapy: Scrapy, tmp_path: Path) -> None:
    options = {"CLOSESPIDER_PAGECOUNT": 80, "POLITENESS_DELAY": 0.2, "HISTORY_INTERVAL": 0.5}
    with running(Parameters(levels=4, pages=4)) as origin:
        crawled = scrapy("crawl", "rdfa", "-a", f"seeds={origin}/", PROGRESS_INTERVAL=1, **options)
    assert re.search(r" pages .*  ends in 0:0\d\n", crawled.stderr), crawled.stderr
    history = tmp_path / "crawl" / NAME
    samples = read(history)
    foretold = [each for each in samples if each.end]
    assert foretold
    for each in foretold:
        assert each.end == pytest.approx(samples[-1].seconds, rel=0.25)
        assert each.end_pages == pytest.approx(80, abs=8)
    assert samples[-1].end == 0, "it has ended"
    lines = history.read_text().splitlines(keepends=True)  # as while the crawl runs
    history.write_text("".join(lines[:-1]))
    report = scrapy("report").stdout
    assert re.search(r"^ends, by forecast +after \d+\.\d s, with (7|8)\d pages$", report, re.M), (
        report
    )


def test_a_real_crawl_is_reported(crawl: Crawler, scrapy: Scrapy, tmp_path: Path) -> None:
    with running(Parameters(levels=2, pages=4)) as origin:
        found = crawl(f"{origin}/", HISTORY_INTERVAL=0.1)
    # As a running crawl may leave it at the moment of reading.
    with (tmp_path / "crawl" / NAME).open("a") as file:
        file.write('{"time":179')
    for name in ("report.svg", "report.html"):
        result = scrapy("report", "-o", name)
        assert result.returncode == 0, result.stderr
        assert f"The report is in {name}." in result.stdout
    assert re.search(rf"^pages, all visits +{len(found.pages)}$", result.stdout, re.MULTILINE)
    assert re.search(rf"^triples stored +{len(found.quads)}$", result.stdout, re.MULTILINE)
    root = ElementTree.parse(tmp_path / "report.svg").getroot()
    assert len(list(root.iter(f"{SVG}polyline"))) == 4
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["-s", "JOBDIR=nowhere"], 1, "There is no history in nowhere/history.jsonl: run a crawl"),
        (["--against", "nowhere"], 1, "There is no history in nowhere/history.jsonl: run a crawl"),
        (["--against", "text"], 1, "text is not the history of a crawl"),
        (["-o", "nowhere/report.svg"], 1, "No such file"),
        (["-o", "report.png"], 2, "ends in .svg, .html, .json"),
        (["crawl"], 2, "takes options only"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    write(tmp_path / "crawl", samples(60))
    (tmp_path / "text").write_text("no history\n")
    result = scrapy("report", *arguments)
    assert result.returncode == code
    assert sentence in result.stderr + result.stdout
    assert "Traceback" not in result.stderr


def test_the_command_costs_the_others_nothing() -> None:
    """Scrapy imports the settings and every command at every call; this one brings nothing with it."""
    code = (
        "import sys, rdfaspider.settings; before = set(sys.modules);"
        " import rdfaspider.commands.results.report;"
        " print(*sorted({*sys.modules} - before))"
    )
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in modules if name.startswith("rdfaspider.")] == [
        "rdfaspider.commands",
        "rdfaspider.commands.results",
        "rdfaspider.commands.results.report",
        "rdfaspider.settings.command",
    ]
