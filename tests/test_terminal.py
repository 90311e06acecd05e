from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.terminal import StatusLine, accept_all, cells, columns, cut, escaped
from rdfaspider.terminal.table import Table

PROJECT = Path(__file__).parent.parent


class Screen(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding, newline="", write_through=True)

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        written: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return written.decode(self.encoding)


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("plain", None, "plain"),
        ("two\nlines\tand\r\x00", None, r"two\nlines\tand\r\x00"),
        ("\x1b[2Jgone \x9b31m", None, r"\x1b[2Jgone \x9b31m"),
        ("txt.\u202eexe\u2069\u2028", None, r"txt.\u202eexe\u2069\u2028"),
        ("half \ud800", "utf-8", r"half \ud800"),
        ("Füße 漢 𝄞", "utf-8", "Füße 漢 𝄞"),
        ("Füße 漢 𝄞", "latin-1", r"Füße \u6f22 \U0001d11e"),
        ("Füße", "ascii", r"F\xfc\xdfe"),
    ],
)
def test_what_would_steer_a_terminal_is_escaped(
    text: str, encoding: str | None, shown: str
) -> None:
    assert escaped(text, encoding) == shown


@given(st.text())
def test_an_escaped_text_is_one_line_that_can_be_written(text: str) -> None:
    for encoding in ("utf-8", "ascii", "latin-1"):
        shown = escaped(text, encoding)
        shown.encode(encoding)
        assert len(shown.splitlines()) <= 1
        assert not any(character < " " or character == "\x7f" for character in shown)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("漢字漢字", 8, "漢字漢字"),
        ("漢字漢字", 7, "漢字漢…"),
        ("漢字漢字", 6, "漢字…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_a_text_is_cut_by_the_columns_it_takes(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert cells(shown) <= width


def test_the_mark_of_a_cut_is_one_that_the_terminal_has() -> None:
    assert cut("abcdef", 4, "ascii") == "abc~"
    assert cut("abcdef", 4, "latin-1") == "abc~"


def test_columns_are_those_of_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert columns(Screen()) == 50
    assert columns(io.StringIO()) is None
    for nonsense in ("", "0", "-3", "wide"):
        monkeypatch.setenv("COLUMNS", nonsense)
        assert columns(Screen()) == 80


def test_columns_are_those_of_the_very_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error may be one where standard output is a file."""
    monkeypatch.delenv("COLUMNS", raising=False)
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 61, 0, 0))
    with os.fdopen(leader), os.fdopen(follower, "w") as stream:
        assert columns(stream) == 61


def test_any_text_can_be_written_to_any_stream() -> None:
    screen = Screen("ascii")
    accept_all(screen)
    screen.write("Füße …")
    assert screen.text == r"F\xfc\xdfe \u2026"


def test_a_status_line_renews_itself_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    screen = Screen("ascii")
    with StatusLine(screen, interval=0) as line:
        line.show("one")
        line.show("something longer\n")
    assert screen.text == "\r\x1b[Kone\r\x1b[Ksomethin~\r\x1b[K"


def test_a_status_line_is_silent_elsewhere_and_about_quick_work() -> None:
    file = io.StringIO()
    with StatusLine(file, interval=0) as line:
        line.show("one")
    assert file.getvalue() == ""
    screen = Screen()
    with StatusLine(screen) as line:
        line.show("one")
    assert screen.text == ""


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
@pytest.mark.parametrize("options", [[], ["-u"]])
def test_a_broken_pipe_ends_quietly_even_with_more_to_write(
    errors: int, options: list[str]
) -> None:
    program = """
import sys
from rdfaspider.terminal import quiet_pipe
with quiet_pipe():
    print("first", flush=True)
    sys.stdin.read()
    print("said", file=sys.stderr)
    print("rest")
print("after")
"""
    pipe = subprocess.PIPE
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, *options, "-c", program],
        cwd=PROJECT,
        env=environment,
        stdin=pipe,
        stdout=pipe,
        stderr=errors,
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == b"first\n"
        process.stdout.close()
        process.stdin.close()
        said = process.stderr.read() if process.stderr else b"said\n"
    assert (process.returncode, said) == (0, b"said\n")


def lines(columns_of_screen: int, names: list[str], rows: list[list[str]]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns_of_screen))
        return list(Table(names, Screen()).lines(rows))


@given(
    st.integers(20, 120),
    st.lists(st.lists(st.text(max_size=80), min_size=3, max_size=3), max_size=8),
)
def test_no_line_of_a_table_is_wider_than_the_terminal(width: int, rows: list[list[str]]) -> None:
    shown = lines(width, ["a", "b", "c"], rows)
    assert len(shown) == len(rows) + 3
    assert all(cells(line.rstrip("\n")) <= width for line in shown[:-1])


def test_narrow_columns_keep_their_width_and_wide_ones_share_the_rest() -> None:
    rows = [["x" * 100, "short", "y" * 60], ["x", "s", "y"]]
    assert lines(40, ["a", "b", "c"], rows) == [
        "a                b      c\n",
        f"{'-' * 15}  {'-' * 5}  {'-' * 15}\n",
        f"{'x' * 14}…  short  {'y' * 14}…\n",
        "x                s      y\n",
        "(2 rows, long cells cut)\n",
    ]


def test_more_columns_than_fit_are_still_all_there() -> None:
    names = [f"name{number}" for number in range(20)]
    head = lines(50, names, [["v"] * 20])[0]
    assert head.count("…") == 20


def test_a_table_for_a_file_is_not_cut_and_not_blown_up() -> None:
    rows = [["x" * 100_000, "a"], *([str(number), "b"] for number in range(1000))]
    text = "".join(Table(["one", "two"], io.StringIO()).lines(rows))
    assert "x" * 100_000 in text
    assert len(text) < 100_000 + 1_010 * 110
    assert text.endswith("(1,001 rows)\n")
    assert "".join(Table(["a"], io.StringIO()).lines([["b"]])).endswith("(1 row)\n")


def test_memory_does_not_grow_with_the_rows() -> None:
    def rows() -> Iterator[list[str]]:
        for number in range(20_000):
            yield [f"{number}" * 100, "b"]

    tracemalloc.start()
    try:
        count = sum(1 for _ in Table(["one", "two"], io.StringIO()).lines(rows()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 20_003
    assert peak < 2 << 20
