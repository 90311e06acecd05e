"""The ready hosts, the next one first: in one heap, or in the branches of their names, which take turns.

An entry of a host is its urgency, its place in a queue page, its stamp and its id. The latest entry of a host
is the valid one, which schedule.py knows by its stamp.
"""

from __future__ import annotations

import heapq
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier.schedule.hosts import Clocks

if TYPE_CHECKING:
    from collections.abc import Callable

    Entry = tuple[Any, int, int, int]


class ReadyHosts:
    """Ready hosts by urgency, in a heap with stale entries."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, key: bytes, entry: Entry) -> None:
        heapq.heappush(self._heap, entry)

    def first(self) -> Entry | None:
        return self._heap[0] if self._heap else None

    def pop(self) -> None:
        """Drop the first entry."""
        heapq.heappop(self._heap)

    def served(self, key: bytes, turn: int) -> None:
        """Notice that a URL of a host was taken, with the number of the take."""

    def sweep(self, is_valid: Callable[[Entry], bool]) -> None:
        """Drop all stale entries."""
        self._heap = list(filter(is_valid, self._heap))
        heapq.heapify(self._heap)


class ReadyBranches(ReadyHosts):
    """Ready hosts by the labels of their names, from the end: at each label the branch comes first that
    was served longest ago, and of those never served the first by name. Urgencies do not count.

    Invariant: a branch with ready hosts is in the heap of its parent; one without is dropped when it comes
    first there. A turn in a heap may be older than that in `_turns`, never newer.
    """

    def __init__(self) -> None:
        self._root = _Branch(None)
        self._turns = Clocks()

    def __len__(self) -> int:
        return self._root.hosts

    def push(self, key: bytes, entry: Entry) -> None:
        branch = self._root
        for name in _branches_of(key):
            child = branch.children.get(name)
            if child is None:
                child = branch.children[name] = _Branch(branch)
                heapq.heappush(branch.heap, (self._turns[name], name, child))
            branch = child
        if branch.entry is None:
            branch.grow(1)
        branch.entry = entry

    def first(self) -> Entry | None:
        return self._leaf().entry if self._root.hosts else None

    def pop(self) -> None:
        leaf = self._leaf()
        leaf.entry = None
        leaf.grow(-1)

    def served(self, key: bytes, turn: int) -> None:
        for name in _branches_of(key):
            self._turns[name] = turn

    def sweep(self, is_valid: Callable[[Entry], bool]) -> None:
        """Do nothing: each host has one entry."""

    def _leaf(self) -> _Branch:
        branch = self._root
        while branch.entry is None:
            turn, name, child = branch.heap[0]
            if not child.hosts:
                heapq.heappop(branch.heap)
                del branch.children[name]
            elif turn != self._turns[name]:
                heapq.heapreplace(branch.heap, (self._turns[name], name, child))
            else:
                branch = child
        return branch


class _Branch:
    """A label of names; the last branch of a name has the entry of the host."""

    __slots__ = ("children", "entry", "heap", "hosts", "parent")

    def __init__(self, parent: _Branch | None) -> None:
        self.parent = parent
        self.hosts = 0
        self.entry: Entry | None = None
        self.children: dict[bytes, _Branch] = {}
        self.heap: list[tuple[float, bytes, _Branch]] = []

    def grow(self, hosts: int) -> None:
        branch: _Branch | None = self
        while branch is not None:
            branch.hosts += hosts
            branch = branch.parent


def _branches_of(key: bytes) -> list[bytes]:
    """Return the names of the branches that lead to a host: `org`, `org,example`, and `org,example)` for the
    host itself, beside which www.example.org may be."""
    labels = [label + b"," for label in key.split(b",")]
    return [*accumulate(labels), key + b")"]
