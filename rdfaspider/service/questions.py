"""Answers questions about a frontier that is served: of people, and of workers that leave."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.service import messages
from rdfaspider.service.messages import Found

if TYPE_CHECKING:
    from rdfaspider.service.handler import Handler
    from rdfaspider.service.workers import Worker

# Hosts that are told of in one answer.
_HOSTS = 1000
# URLs that are looked at for one answer, when all of them are.
_URLS = 20_000


def answer(handler: Handler, worker: Worker, question: messages.Question) -> Any:
    """Return the answer to a question; FrontierUnavailable if there is none."""
    frontier = handler.frontier
    worker.heard = now = handler.now(question.now)
    match question:
        case messages.ReadNote(name=name):
            return _as_list(frontier.note(name))
        case messages.Knows(url=url):
            return frontier.knows(url)
        case messages.FindUrl(url=url):
            return _as_list(frontier.views.of(url))
        case messages.ListHosts(begin=begin):
            if begin:
                worker.views = frontier.hosts(now)
            return list(islice(worker.views, _HOSTS))
        case messages.ListEnded(begin=begin, state=state, pattern=pattern):
            if begin:
                worker.rows = frontier.views.scan(state, pattern)
            return _next_part(worker)
        case messages.Requeue(begin=begin, pattern=pattern):
            if begin:
                worker.rows = frontier.requeuing(pattern)
            return _next_part(worker)
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


def _as_list(found: object) -> list[object]:
    return [] if found is None else [found]


def _next_part(worker: Worker) -> Found:
    """Do the next part of something that goes through all URLs."""
    part = list(islice(worker.rows, _URLS))
    return Found([row for row in part if row], len(part) < _URLS)
