"""A child process finds what its parent can import, gets its task, and ends with its parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rdfaspider.children import command

CHILD = """
from rdfaspider.children import await_end_of_parent, read_task

def main(*arguments):
    print(*arguments, read_task(), flush=True)
    await_end_of_parent()
    print("ended", flush=True)
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> subprocess.Popen[bytes]:
    (tmp_path / "achild.py").write_text(CHILD)
    monkeypatch.syspath_prepend(tmp_path)
    return subprocess.Popen(
        command("achild", "one", "two"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_a_child_gets_its_task_in_parts_and_ends_with_its_parent(
    child: subprocess.Popen[bytes],
) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        for part in (b'{"a": ', b"1}", b"\n"):
            child.stdin.write(part)
            child.stdin.flush()
        assert child.stdout.readline() == b"one two b'{\"a\": 1}\\n'\n"
        assert child.poll() is None, "it stays while its parent does"
        child.stdin.close()
        assert child.stdout.read() == b"ended\n"
    assert child.returncode == 0


def test_a_child_whose_parent_has_ended_before_it_had_a_task_ends(
    child: subprocess.Popen[bytes],
) -> None:
    said, _ = child.communicate(b'{"a": ', timeout=60)
    assert (said, child.returncode) == (b"", 1)


INTERRUPT = """
import subprocess, sys
from signal import SIGINT
import tests.conftest

waiting = "import time; print('here', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", waiting], stdout=-1, stderr=-3)
child.stdout.readline()
child.send_signal(SIGINT)
try:
    print("ended by", -child.wait(10))
finally:
    child.kill()
"""


def test_tests_can_interrupt_a_process_where_the_shell_ignores_interrupts() -> None:
    """`make test &` in a script, or nohup, starts everything with SIGINT ignored."""
    in_background = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable]
    done = subprocess.run(
        [*in_background, "-c", INTERRUPT],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "ended by 2\n", done.stderr
