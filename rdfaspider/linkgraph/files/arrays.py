"""Arrays written to files.

`ndarray.tofile` ignores the errors of closing, so on a full disk the end of an array is missing and nobody
is told. Files of Python raise OSError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.linkgraph.files.varints import Array


def write(file: BinaryIO, array: Array) -> None:
    """Write an array to an open file."""
    file.write(np.ascontiguousarray(array).data)


def create(path: Path, *arrays: Array) -> None:
    """Write arrays to a file, which is there whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            for array in arrays:
                write(file, array)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
