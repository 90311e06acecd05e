"""The limit to the memory of a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")

BEGIN = """
import os, resource, threading
from rdfaspider.heap import limited

def limits():
    return resource.getrlimit(resource.RLIMIT_AS)

def fits(megabytes):
    try:
        return bool(bytearray(megabytes << 20))
    except MemoryError:
        return False

before = limits()
"""


def run(script: str) -> None:
    """Run a script in a process that has no other threads, as this one may have."""
    subprocess.run([sys.executable, "-c", BEGIN + script], check=True)


def test_more_memory_than_allowed_is_refused_in_the_block_alone() -> None:
    run("""
with limited(256 << 20):
    assert fits(64)
with limited(64 << 20):
    assert not fits(256)
assert limits() == before
assert fits(256)
""")


def test_a_stricter_limit_of_the_process_stays() -> None:
    run("""
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
strict = (used + (64 << 20), before[1])
resource.setrlimit(resource.RLIMIT_AS, strict)
with limited(256 << 20):
    assert limits() == strict
assert limits() == strict
""")


def test_other_threads_keep_their_memory() -> None:
    run("""
end = threading.Event()
threading.Thread(target=end.wait).start()
with limited(1 << 20):
    assert limits() == before
    assert fits(256)
end.set()
""")
