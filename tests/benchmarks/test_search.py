"""What the search index costs: bytes and CPU time for a page, and the time of a search.

    pytest tests/benchmarks/test_search.py -s

Each page has a text of 2,500 characters and five things; words are drawn from 30,000 by Zipf's law.
SEARCH_PAGES=2000 is a short run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from time import process_time

import pytest

from rdfaspider.search.index import NAME, Index, PageWords, batches
from rdfaspider.search.reading import Reader

pytestmark = pytest.mark.timeout(1800)

PAGES = int(os.environ.get("SEARCH_PAGES", "20_000"))
VOCABULARY = 30_000
ANSWER = 0.1  # seconds of CPU time


def pages() -> Iterator[PageWords]:
    rng = random.Random(1)
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(3, 9)))
        for _ in range(VOCABULARY)
    ]
    words[0], words[100], words[5_000] = "common", "usual", "rare"
    weights = list(accumulate(1 / (place + 2) for place in range(VOCABULARY)))

    def text(count: int) -> str:
        return " ".join(rng.choices(words, cum_weights=weights, k=count))

    for number in range(PAGES):
        url = f"http://w{number % 500}.site.test/{number}"
        lines = []
        for thing in range(5):
            about = f"<{url}#{thing}>"
            lines.append(
                f"{about} a".replace(" a", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>")
            )
            lines[-1] += f" <http://schema.org/T{rng.randrange(30)}> .\n"
            lines.append(f'{about} <http://schema.org/name> "{text(3)}" .\n')
            lines.append(f'{about} <http://schema.org/description> "{text(25)}" .\n')
            lines.append(f'{about} <http://schema.org/position> "{thing}" .\n')
        yield PageWords(url, "".join(lines).encode(), text(6), text(400), 1.0)


def test_what_the_index_costs(tmp_path: Path) -> None:
    given = list(pages())
    with Index(tmp_path / "search") as index:
        begin = process_time()
        for batch in batches(given, 10):
            index.put(batch)
        spent = process_time() - begin
    size = (tmp_path / "search" / NAME).stat().st_size
    raw = sum(len(page.triples) + len(page.title) + len(page.text) for page in given)
    print(
        f"\n{PAGES:,} pages, {6 * PAGES:,} things, {raw / PAGES:,.0f} bytes of text and triples a page"
    )
    print(f"index: {size / PAGES:,.0f} bytes a page, {1000 * spent / PAGES:.2f} ms of CPU")
    with Index(tmp_path / "search") as index:
        begin = process_time()
        for batch in batches(given[:1000], 10):
            index.put([page._replace(title="changed") for page in batch])
        print(f"changed: {process_time() - begin:.2f} ms of CPU a page")
    searches: dict[str, Callable[[Reader], object]] = {
        "rare": lambda reader: reader.search("rare"),
        "usual": lambda reader: reader.search("usual"),
        "common": lambda reader: reader.search("common"),
        "common, of a type": lambda reader: reader.search("common", "T3"),
        "common usual": lambda reader: reader.search("common usual"),
        "a type": lambda reader: reader.search("", "schema:T3"),
        "types": lambda reader: reader.types(),
        "vocabularies": lambda reader: reader.vocabularies(),
        "size": lambda reader: reader.size(),
    }
    for name, search in searches.items():
        begin = process_time()
        for _ in range(5):
            with Reader(tmp_path) as reader:
                answer = search(reader)
        spent = (process_time() - begin) / 5
        matches = getattr(answer, "matches", len(answer) if isinstance(answer, list | tuple) else 0)
        print(f"{name:20} {matches:8,} {1000 * spent:8.2f} ms of CPU")
        assert spent < ANSWER, name
