"""Answers questions about a served frontier, from people and from workers that leave."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service import messages
from rdfaspider.service.messages import Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.service.server.handler import Handler
    from rdfaspider.service.server.workers import Worker

# Hosts in one answer.
_HOSTS = 1000
# URLs scanned for one answer.
_URLS = 20_000


def answer(handler: Handler, worker: Worker, question: messages.Question) -> Any:
    """Return the answer to a question; FrontierUnavailable if there is none."""
    frontier = handler.frontier
    worker.heard = now = handler.now(question.now)
    match question:
        case messages.ReadNote(name=name):
            return [note] if (note := frontier.note(name)) is not None else []
        case messages.Knows(url=url):
            return frontier.knows(url)
        case messages.FindUrl(url=url):
            return [view] if (view := frontier.views.of(url)) is not None else []
        case messages.ReadRanks(urls=urls):
            return frontier.views.ranks(urls)
        case messages.ListHosts(begin=begin):
            if begin:
                worker.views = frontier.hosts(now)
            return list(islice(worker.views, _HOSTS))
        case messages.ListEnded(begin=True, state=state, pattern=pattern):
            return _next_part(worker, frontier.views.scan(state, pattern))
        case messages.ListBranches(begin=True, prefix=prefix):
            return _next_part(worker, frontier.views.branches(prefix))
        case messages.Requeue(begin=True, pattern=pattern, reason=reason):
            return _next_part(worker, frontier.requeuing(pattern, reason))
        case messages.Retire(begin=True, pattern=pattern):
            return _next_part(worker, frontier.retiring(pattern))
        case (
            messages.ListEnded() | messages.ListBranches() | messages.Requeue() | messages.Retire()
        ):
            return _next_part(worker, worker.rows)
        case messages.Tell(name=name, value=value):
            try:
                return handler.tell(name, value)
            except ValueError as error:
                raise FrontierUnavailable(str(error)) from error
        case messages.ReadLog(most=most, level=level):
            return handler.log.last(most, level)
        case messages.ListWorkers():
            return [each.view(now) for each in handler.workers]
        case messages.Leave():
            return handler.workers.remove(worker, now)
        case _:
            raise FrontierUnavailable(f"This service does not answer {type(question).__name__}.")


def _next_part(worker: Worker, rows: Iterator[Any]) -> Found:
    """Return the next part of a scan of all URLs."""
    worker.rows = rows
    part = list(islice(rows, _URLS))
    return Found([row for row in part if row], len(part) < _URLS)
