from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from rdfaspider.urls.seedfile import read_seed_lines


def texts(argument: object) -> list[str]:
    return [text for _, text in read_seed_lines(str(argument))]


def test_urls_are_split_at_commas_before_a_url_only() -> None:
    assert texts("http://a.test/x,y,HTTP://b.test/, https://c.test") == [
        "http://a.test/x,y",
        "HTTP://b.test/",
        "https://c.test",
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"", []),
        (b"http://a.test/", ["http://a.test/"]),
        (b"\xef\xbb\xbfhttp://a.test/\n", ["http://a.test/"]),
        (b"# mine\r\n\r\n  http://a.test/  \r\nhttp://b.test/\r", ["http://a.test/", "http://b.test/"]),
        (b"http://a.test/caf\xe9\nhttp://a.test/caf\xc3\xa9\n", ["http://a.test/café"] * 2),
        ("http://a.test/é\n".encode("utf-16"), ["http://a.test/é"]),
        (b"\xff\xd8\xff\xe0\x00\x01nonsense", ["ÿØÿà\x00\x01nonsense"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_has_a_url_a_line(
    tmp_path: Path, body: bytes, found: list[str], packed: bool
) -> None:
    file = tmp_path / "seeds.txt"  # its first bytes say that it is gzipped, not its name
    file.write_bytes(gzip.compress(body) if packed else body)
    assert texts(file) == found


def test_the_place_of_each_line_is_told(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# one\n\nhttp://a.test/\n")
    assert list(read_seed_lines(str(file))) == [(f"{file}, line 3", "http://a.test/")]


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    file = tmp_path / "seeds.gz"
    file.write_bytes(gzip.compress(b"http://a.test/\n") + gzip.compress(b"http://b.test/\n"))
    assert texts(file) == ["http://a.test/", "http://b.test/"]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    body = b"http://a.test/\n# no\nhttp://b.test/\n"
    program = (
        "from rdfaspider.urls.seedfile import read_seed_lines\n"
        "print(list(read_seed_lines('-')), list(read_seed_lines('-')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        input=gzip.compress(body) if packed else body,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.decode().strip() == (
        "[('standard input, line 1', 'http://a.test/'),"
        " ('standard input, line 3', 'http://b.test/')] []"
    )


def test_text_in_memory_can_stand_for_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("http://a.test/\n"))
    assert texts("-") == ["http://a.test/"]


def test_without_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="no standard input"):
        texts("-")


@pytest.mark.parametrize("argument", ["missing.txt", "/", "example.org", "x" * 5000])
def test_what_is_no_file_is_said(argument: str) -> None:
    with pytest.raises(ValueError, match=r"^Cannot read the seeds: .*\.$") as caught:
        texts(argument)
    assert len(str(caught.value)) < 400


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.touch(mode=0)
    with pytest.raises(ValueError, match="Permission denied"):
        texts(file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:-10],
        lambda packed: packed[:3],
        lambda packed: packed[:20] + b"\xff" * 20 + packed[40:],
    ],
)
def test_a_damaged_gzip_file_is_said(tmp_path: Path, damage: object) -> None:
    body = "".join(f"http://a.test/{number}\n" for number in range(1000)).encode()
    file = tmp_path / "seeds.gz"
    file.write_bytes(damage(gzip.compress(body)))  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"^Cannot read the seeds: .*seeds\.gz is damaged"):
        texts(file)


@pytest.mark.parametrize("text", [b"\0", b"http://a.test/\n"])
def test_a_gzip_bomb_needs_no_memory(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "bomb.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range(50):
            packed.write(text * (1_000_000 // len(text)))
    tracemalloc.start()
    try:
        if text == b"\0":
            with pytest.raises(ValueError, match="line 1 is too long"):
                texts(file)
        else:
            seeds = iter(read_seed_lines(str(file)))
            assert all(next(seeds)[1] == "http://a.test/" for _ in range(50_000))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
