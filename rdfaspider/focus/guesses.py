"""Where guessing URLs pays: a small budget for each host, and folders where guesses fail are left alone.

Layout. A host and a folder keep how many guesses were made below them and how many of these were pages. A
host may be guessed at while it has fewer guesses than `budget` plus RETURN for each hit. So hits pay for
more guesses, and a host without hits costs `budget` fetches and no more. A folder is left alone after
`patience` guesses if less than LEAST of them hit.

Invariant. There are never more than `most` hosts and folders: beyond that, the quarter with the fewest
guesses is dropped.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rdfaspider.urls.keys import host_of, parent_of, to_key
from rdfaspider.urls.mining import neighbours, parents

if TYPE_CHECKING:
    from collections.abc import Iterator

RETURN = 2
LEAST = 0.2


class Guesses:
    """Guesses URLs from known ones (urls/mining.py) while that pays.

    `candidates` yields guesses. The caller reports those that were new with `made`, and with `answered`
    whether a page was there.
    """

    def __init__(self, budget: int = 20, patience: int = 5, most: int = 50_000) -> None:
        if budget < 1 or patience < 1 or most < 16:
            raise ValueError("guesses need a budget and patience of at least 1, and room for 16")
        self._budget, self._patience, self._most = budget, patience, most
        self._table: dict[bytes, list[int]] = {}  # guesses made, hits

    def __len__(self) -> int:
        return len(self._table)

    def candidates(self, url: str) -> Iterator[str]:
        """Yield the folders above a URL, nearest first, then its numbers' neighbours, where they pay."""
        if not self._may_guess(host_of(to_key(url))):
            return
        for guess in (*parents(url), *neighbours(url)):
            if not self._is_left_alone(parent_of(to_key(guess))):
                yield guess

    def made(self, url: str) -> bool:
        """Count a guess and return True, or return False if its host's budget is used up."""
        key = to_key(url)
        host = host_of(key)
        if not self._may_guess(host):
            return False
        for place in (host, parent_of(key)):
            self._table.setdefault(place, [0, 0])[0] += 1
        if len(self._table) > self._most:
            self._forget()
        return True

    def answered(self, url: str, hit: bool) -> None:
        """Count whether a guess was a page."""
        key = to_key(url)
        for place in (host_of(key), parent_of(key)):
            if hit and place in self._table:
                self._table[place][1] += 1

    def _may_guess(self, host: bytes) -> bool:
        made, hits = self._table.get(host, (0, 0))
        return made < self._budget + RETURN * hits

    def _is_left_alone(self, folder: bytes) -> bool:
        made, hits = self._table.get(folder, (0, 0))
        return made >= self._patience and hits < LEAST * made

    def _forget(self) -> None:
        kept = sorted(self._table.items(), key=lambda item: item[1][0])[self._most // 4 :]
        self._table = dict(kept)

    def dump(self) -> bytes:
        """Return everything as bytes."""
        rows = [[place.decode("ascii"), *counts] for place, counts in self._table.items()]
        return json.dumps(rows, separators=(",", ":")).encode()

    def load(self, data: bytes) -> None:
        """Replace everything by what was dumped; ValueError if it is damaged."""
        try:
            table = {
                str(place).encode("ascii"): [int(made), int(hits)]
                for place, made, hits in json.loads(data)
            }
        except (ValueError, TypeError) as error:
            raise ValueError(f"The stored guesses are damaged: {error}.") from error
        self._table = table
        while len(self._table) > self._most:
            self._forget()
