"""URLs that nobody linked to, guessed from one that is known: its folders, its numbers' neighbours.

From ``/pics1/Page1.html`` follow the folders ``/pics1/`` and ``/``, and ``/pics1/Page2.html`` or
``/pics2/Page1.html`` may well exist (Tarantula, section 5.1). A guess costs a fetch: the caller
decides where it pays.
"""

import re
from collections.abc import Iterator
from itertools import islice

MAX_PARENTS = 20
MAX_NEIGHBOURS = 16

# The digits of an escape are no number.
_NUMBER = re.compile(r"%[0-9A-Fa-f]{0,2}|([0-9]+)")

# Longer ones are times and keys, whose neighbours mean nothing.
_LONGEST_NUMBER = 9


def parents(url: str) -> list[str]:
    """Return the URLs above a normalised one, nearest first, the root last.

    A query's parent is the page without it. Of very deep folders only the MAX_PARENTS next to the
    root are given.
    """
    path = url.partition("?")[0]
    ends = [place + 1 for place, character in enumerate(path) if character == "/"]
    folders = [path[:end] for end in ends[2 : 2 + MAX_PARENTS]]
    return [above for above in dict.fromkeys([path, *reversed(folders)]) if above != url]


def neighbours(url: str, distance: int = 1, limit: int = MAX_NEIGHBOURS) -> list[str]:
    """Return normalised URLs with one number of the path or query moved by at most the distance.

    Near ones come first, then numbers further right, then the greater value; zero padding is kept.
    """
    start = url.index("/", url.index("//") + 2)
    numbers = [
        found.span()
        for found in _NUMBER.finditer(url, start)
        if found[1] and len(found[1]) <= _LONGEST_NUMBER
    ]
    guesses = (
        url[:first] + moved + url[last:]
        for step in range(1, distance + 1)
        for first, last in reversed(numbers)
        for moved in _moved(url[first:last], step)
    )
    return list(islice(guesses, limit))


def _moved(digits: str, step: int) -> Iterator[str]:
    width = len(digits) if digits[0] == "0" else 1
    yield f"{int(digits) + step:0{width}}"
    if int(digits) >= step:
        yield f"{int(digits) - step:0{width}}"
