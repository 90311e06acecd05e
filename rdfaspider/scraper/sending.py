"""Scrapy's signals, sent without asking each time who hears them and what they want to know.

Scrapy finds the receivers of a signal in four tables, and looks at the code of each for the names of its
arguments, five times a page. Ours remembers both until somebody is connected or disconnected.
"""

from __future__ import annotations

import logging
from inspect import isawaitable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from pydispatch.dispatcher import (  # type: ignore[import-untyped]
    WEAKREF_TYPES,
    connections,
    getAllReceivers,
)
from pydispatch.dispatcher import Any as Anybody
from pydispatch.robustapply import robustApply  # type: ignore[import-untyped]
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

if TYPE_CHECKING:
    # Those who want the signal, and any signal, of the crawl; and those who want them of anybody.
    _Connected = tuple[list[Any] | None, ...]

logger = logging.getLogger(__name__)

_NOBODY: dict[Any, Any] = {}
_TAKES_KEYWORDS = 8  # a flag of code


class Signals(SignalManager):
    """Sends signals as Scrapy does.

    Layout: for each signal the receivers that were connected, as the dispatcher has them, weak references
    mostly, and what each of them takes.
    Invariant: they are used only if the dispatcher has the same ones now.
    """

    def __init__(self, sender: Any) -> None:
        super().__init__(sender)
        self._known: dict[Any, tuple[_Connected, list[tuple[Any, tuple[str, ...] | None]]]] = {}

    def send_catch_log(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        if "sender" in named or "dont_log" in named:
            return super().send_catch_log(signal, **named)
        answers: list[tuple[Any, Any]] = []
        for receiver, names in self._hearing(signal):
            answer: Any
            try:
                answer = self._call(receiver, names, signal, named)
                if isinstance(answer, Deferred):
                    self._log("Cannot return deferreds from signal handler", receiver, named, False)
            except StopDownload:
                answer = Failure()  # type: ignore[no-untyped-call]
            except Exception:
                answer = Failure()  # type: ignore[no-untyped-call]
                self._log("Error caught on signal handler", receiver, named, True)
            answers.append((receiver, answer))
        return answers

    def _hearing(self, signal: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """Return the receivers of a signal and the names that each takes; None if they must be found out."""
        ours = connections.get(id(self.sender), _NOBODY)
        all_ = connections.get(id(Anybody), _NOBODY)
        there = ours.get(signal), ours.get(Anybody), all_.get(signal), all_.get(Anybody)
        known = self._known.get(signal)
        if known is None or known[0] != there:
            each = getAllReceivers(self.sender, signal)
            copies = tuple(each and [*each] for each in there)
            known = self._known[signal] = copies, [(one, _names(_alive(one))) for one in each]
        return [(alive, names) for one, names in known[1] if (alive := _alive(one)) is not None]

    def _call(
        self, receiver: Any, names: tuple[str, ...] | None, signal: Any, named: dict[str, Any]
    ) -> Any:
        if names is None:
            return robustApply(receiver, signal=signal, sender=self.sender, **named)
        given = {name: named[name] for name in names if name in named}
        if "signal" in names:
            given["signal"] = signal
        if "sender" in names:
            given["sender"] = self.sender
        return receiver(**given)

    def _log(self, words: str, receiver: Any, named: dict[str, Any], has_trace: bool) -> None:
        logger.error(
            f"{words}: %(receiver)s",
            {"receiver": receiver},
            exc_info=has_trace,
            extra={"spider": named.get("spider")},
        )


class PageSignals(Signals):
    """Sends a signal to one receiver after the other, and starts no task for those that are no coroutines."""

    async def send_catch_log_async(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        answers: list[tuple[Any, Any]] = []
        for receiver, names in self._hearing(signal):
            try:
                answer = self._call(receiver, names, signal, named)
                if answer is not None and (isinstance(answer, Deferred) or isawaitable(answer)):
                    answer = await ensure_awaitable(answer)
            except Exception as error:
                self._log("Error caught on signal handler", receiver, named, True)
                answer = error
            answers.append((receiver, answer))
        return answers


def _alive(receiver: Any) -> Any:
    """Return a receiver that may be a weak reference, None if it is gone."""
    return receiver() if isinstance(receiver, WEAKREF_TYPES) else receiver


def _names(receiver: Any) -> tuple[str, ...] | None:
    """Return the names of the arguments of a function or method; None if it takes any, or is neither."""
    function, bound = receiver, 0
    if type(receiver) is MethodType:
        function, bound = receiver.__func__, 1
    if type(function) is not FunctionType or function.__code__.co_flags & _TAKES_KEYWORDS:
        return None
    code = function.__code__
    return code.co_varnames[bound : code.co_argcount]
