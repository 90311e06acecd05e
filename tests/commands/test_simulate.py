from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def simulate(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rdfaspider", "simulate", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_orders_are_compared_and_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "orders.svg"
    result = simulate("--fetches", "200", "--hosts", "50", "--plot", str(picture))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["breadth", "bandit", "harvest"]
    assert picture.read_text(encoding="utf-8").count("<polyline") == 12


def test_the_pages_of_high_pagerank_are_counted(tmp_path: Path) -> None:
    picture = tmp_path / "ranks.svg"
    options = ("--pagerank", "--order", "breadth,omniscient", "--fetches", "200", "--hosts", "20")
    result = simulate(*options, "--plot", str(picture))
    assert result.returncode == 0, result.stderr
    assert "of PageRank" in result.stdout
    assert result.stdout.splitlines()[-2].endswith(" pages can be reached.")
    assert picture.read_text(encoding="utf-8").count("<polyline") == 6


def test_a_recorded_web(tmp_path: Path) -> None:
    web = tmp_path / "web.jsonl"
    web.write_text('{"url": "https://a.test/", "gain": 2, "links": ["https://a.test/b"]}\n')
    result = simulate("--order", "breadth", "--web", str(web))
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1].split()[:3] == ["breadth", "2", "1.00"]


def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path) -> None:
    for options in (("--web", str(tmp_path / "none")), ("--order", "depth")):
        result = simulate("--fetches", "10", *options)
        assert result.returncode == 1
        assert result.stderr.startswith("scrapy simulate: ")
        assert "Traceback" not in result.stderr
