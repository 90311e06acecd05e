"""The workers of a crew as processes.

A worker that ends too early is reported and replaced. If several end within a short time, a restart does not
help, and the crawl stops.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from rdfaspider.children import command

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

# More deaths per worker than this, within this many seconds, are too many.
_DEATHS, _WITHIN = 3, 60.0
# Longer lines of the log are left out.
_LONGEST_LINE = 1 << 16

_LEVELS = logging.getLevelNamesMapping()

Task = dict[str, Any]


@dataclass(eq=False)
class Processes:
    """Keeps a number of workers running.

    task     returns the task of a worker, by its name
    counted  is called at the end with the growth of a worker's counters
    gone     is called with the name of a worker that ended too early
    failed   is called with a sentence when no worker can be kept running
    """

    task: Callable[[str], Task]
    counted: Callable[[dict[str, int]], None]
    gone: Callable[[str], None]
    failed: Callable[[str], None]
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict, init=False)
    _keepers: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    _deaths: deque[float] = field(default_factory=deque, init=False)
    _is_ending: bool = field(default=False, init=False)

    def start(self, size: int) -> None:
        """Start workers named 1, 2, …"""
        loop = asyncio.get_running_loop()
        self._keepers = [loop.create_task(self._keep(str(name + 1))) for name in range(size)]

    def expect_ends(self) -> None:
        """Note that workers end now because they were told to."""
        self._is_ending = True

    async def end(self, grace: float) -> None:
        """End all workers, by force after `grace` seconds."""
        self._is_ending = True
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        if not self._keepers:
            return
        _, late = await asyncio.wait(self._keepers, timeout=grace)
        if late:
            for process in list(self._running.values()):
                with suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait(late)

    async def _keep(self, name: str) -> None:
        """Keep a worker of this name running."""
        while not self._is_ending:
            try:
                code = await self._run(name)
                if self._is_ending:
                    return
                self.gone(name)
            except OSError as error:
                self._fail(f"No worker can be kept running: {error}.")
                return
            if self._are_too_many(len(self._keepers)):
                self._fail(f"The worker {name} {_ended(code)}, as others have before.")
                return
            logger.warning("The worker %s %s; another takes its place.", name, _ended(code))

    async def _run(self, name: str) -> int:
        process = await asyncio.create_subprocess_exec(
            *command("rdfaspider.crew.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the crawl, which ends its workers
        )
        self._running[name] = process
        if self._is_ending:  # while it was being started
            process.terminate()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(self.task(name)).encode() + b"\n")
                await process.stdin.drain()
            said, _ = await asyncio.gather(process.stdout.read(), _pass_on(process.stderr, name))
            with suppress(ValueError, TypeError):  # it was killed while writing
                self.counted(json.loads(said or b"{}"))
            return await process.wait()
        finally:
            process.stdin.close()
            del self._running[name]

    def _are_too_many(self, size: int) -> bool:
        now = monotonic()
        self._deaths.append(now)
        while now - self._deaths[0] > _WITHIN:
            self._deaths.popleft()
        return len(self._deaths) > _DEATHS * size

    def _fail(self, sentence: str) -> None:
        if not self._is_ending:
            self._is_ending = True
            self.failed(sentence)


async def _pass_on(stream: asyncio.StreamReader, name: str) -> None:
    """Write a worker's log lines to the log of the crawl, with its name; lines without a level are errors."""
    level = logging.ERROR
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # too long
            continue
        if not line:
            return
        text = line.decode(errors="replace").rstrip("\n")
        word, _, rest = text.partition(" ")
        if word in _LEVELS:
            level, text = _LEVELS[word], rest
        logger.log(level, "[%s] %s", name, text)


def _ended(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"has ended with exit code {code}"
