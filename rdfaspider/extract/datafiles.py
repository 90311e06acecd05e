"""The files in `data/`."""

from __future__ import annotations

from pkgutil import get_data


def read_data(name: str) -> bytes:
    """Return a file of `data/`, also where the package is in an egg.

    importlib.resources would do the same, but imports tempfile, shutil and zipfile first: a twentieth of the
    start of a worker.
    """
    data = get_data("rdfaspider.extract", f"data/{name}")
    assert (
        data is not None
    )  # else the loader cannot read files, and neither can importlib.resources
    return data
