"""What is closed at the end of a `with` block."""

from __future__ import annotations

from typing import Protocol, Self


class Closable(Protocol):
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
