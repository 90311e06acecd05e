"""Records are packed and unpacked with and without the packages that are fast at it."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pytest

SCRIPT = """import sys
sys.modules |= dict.fromkeys(sys.argv[1:])
from rdfaspider.archive.warc.members import pack, unpacker
for size in (10, 100_000):
    data = bytes(range(250)) * size
    unpacking = unpacker()
    assert unpacking.decompress(pack(data)) == data and unpacking.eof
    sys.stdout.buffer.write(pack(data))
"""


@pytest.mark.parametrize(
    "missing",
    [[], ["isal"], ["deflate"], ["isal", "deflate"]],
    ids=["none", "one", "other", "both"],
)
def test_any_reader_of_gzip_reads_what_is_packed(missing: list[str]) -> None:
    command = [sys.executable, "-c", SCRIPT, *missing]
    packed = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    assert gzip.decompress(packed) == bytes(range(250)) * 100_010
