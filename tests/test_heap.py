"""The limit to the memory of a call."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from rdfaspider.heap import limited

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")

MEGABYTE = 1 << 20


def test_more_memory_than_allowed_is_refused_in_the_block_alone() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limited(256 * MEGABYTE):
        assert len(bytearray(64 * MEGABYTE))
    with pytest.raises(MemoryError), limited(64 * MEGABYTE):
        bytearray(256 * MEGABYTE)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(256 * MEGABYTE))


def test_a_stricter_limit_of_the_process_stays() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    strict = (used + 64 * MEGABYTE, hard)
    resource.setrlimit(resource.RLIMIT_AS, strict)
    try:
        with limited(256 * MEGABYTE):
            assert resource.getrlimit(resource.RLIMIT_AS) == strict
        assert resource.getrlimit(resource.RLIMIT_AS) == strict
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
