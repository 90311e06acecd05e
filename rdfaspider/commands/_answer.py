"""How a command answers: mistakes in a sentence, and output that any reader and terminal can take."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdfaspider.terminal import complain, quiet_pipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.commands import ScrapyCommand


@contextmanager
def answering(command: ScrapyCommand, name: str) -> Iterator[None]:
    """Run a command; turn an OSError or ValueError into a sentence and the exit code 1."""
    try:
        with quiet_pipe():
            yield
    except (OSError, ValueError) as error:
        complain(name, error)
        command.exitcode = 1
