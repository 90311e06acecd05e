"""`python -m rdfaspider.settings docs/settings.md` renews the tables of the docs."""

from __future__ import annotations

import sys
from pathlib import Path

from rdfaspider.settings.document import with_tables


def main(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(with_tables(text), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
