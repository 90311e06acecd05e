"""What a user can do to a running crawl from the console. Each control answers by a sentence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from rdfaspider.console.hosts.frontiers import knows_host
from rdfaspider.service.notes import DELAY_OF, check_host, told_number
from rdfaspider.terminal import plural
from rdfaspider.urls import normalise
from rdfaspider.urls.expressions import linear

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rdfaspider.console.hosts.frontiers import FrontierSource

_SEEDS = 10_000  # at a time
_SHOWN = 100  # characters of a wrong seed
# What a crawl can be told to do, and what is answered.
_STATES = {
    "pause": ("pause", "The crawl pauses: nothing new is fetched, what is in flight ends."),
    "resume": ("run", "The crawl goes on."),
    "stop": ("stop", "The crawl stops when what is in flight has ended; its command resumes it."),
}


class Steered(Protocol):
    """A crawl that can be steered."""

    @property
    def frontier(self) -> FrontierSource: ...

    async def tell(self, name: str, value: str) -> None:
        """Give an instruction to the crawl and all its workers; ValueError if it is invalid."""

    async def exclude(self, rule: str) -> None:
        """Exclude URLs by a rule; ValueError if it is none."""

    async def add_seeds(self, urls: list[str]) -> list[str]:
        """Take in normalised URLs; return for each one that is not taken in why."""


class Controls:
    """The controls of a crawl, by name."""

    def __init__(self, crawl: Steered) -> None:
        self._crawl = crawl
        # Two at the same time would make a URL wait twice.
        self._requeuing = asyncio.Lock()
        self._by_name: dict[str, Callable[[dict[str, Any]], Awaitable[str]]] = {
            "seeds": self._add_seeds,
            "requeue": self._requeue,
            "exclude": self._exclude,
            "delay": self._set_delay,
        }

    async def use(self, name: str, said: dict[str, Any]) -> str:
        """Use a control; ValueError if it does not exist, or cannot do what is said."""
        if name in _STATES:
            state, sentence = _STATES[name]
            await self._crawl.tell("state", state)
            return sentence
        if name not in self._by_name:
            raise ValueError(f"There is no control {name[:40]}.")
        return await self._by_name[name](said)

    async def _set_delay(self, said: dict[str, Any]) -> str:
        seconds = told_number("The delay", _text(said, "seconds"))
        host = _text(said, "host").strip().lower() if said.get("host") else ""
        if host:
            check_host(host)
            if not await knows_host(self._crawl.frontier, host):
                raise ValueError(f"The crawl knows no URL of {host}: its delay was not set.")
        await self._crawl.tell(f"{DELAY_OF}{host}" if host else "delay", f"{seconds:g}")
        return (
            f"The delay between two fetches of {host or 'a host'} is {seconds:g} seconds from its next fetch"
            " on; a longer one in robots.txt holds all the same."
        )

    async def _exclude(self, said: dict[str, Any]) -> str:
        rule = _text(said, "rule").strip()
        await self._crawl.exclude(rule)
        return f"URLs that match {rule} are not fetched any more."

    async def _requeue(self, said: dict[str, Any]) -> str:
        reason = _text(said, "reason") if said.get("reason") else ""
        pattern = _text(said, "pattern") if "pattern" in said or not reason else ""
        linear(pattern)
        async with self._requeuing:
            count = sum(await self._crawl.frontier.requeue(pattern, reason).all())
        if count == 1:
            return "1 failed URL waits again."
        return f"{count:,} failed URLs wait again."

    async def _add_seeds(self, said: dict[str, Any]) -> str:
        lines = [line for each in _text(said, "urls").splitlines() if (line := each.strip())]
        if not lines:
            raise ValueError("Give a URL in each line.")
        if len(lines) > _SEEDS:
            raise ValueError(f"Give at most {_SEEDS:,} seeds at a time.")
        urls, bad = [], []
        for line in lines:
            try:
                urls.append(normalise(line))
            except ValueError:
                bad.append(line[:_SHOWN])
        refused = await self._crawl.add_seeds(urls) if urls else []
        sentence = f"{plural(len(urls) - len(refused), 'seed')} added."
        if refused:
            why = list(dict.fromkeys(refused))
            sentence += (
                f" {len(refused):,} not taken: {' '.join(why[:3])}{' …' if len(why) > 3 else ''}"
            )
        if bad:
            sentence += f" Not a URL: {', '.join(bad[:3])}{' …' if len(bad) > 3 else ''}."
        return sentence


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise ValueError(f"This needs {name}.")
    return str(value)
