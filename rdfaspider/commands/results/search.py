"""`scrapy search`: find things in a crawl by words and type."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from rdfaspider.search.reading import Answer, Ranks, Reader, Result, Term


class Command(CheckedCommand):
    arguments = "[options] WORDS …"
    summary = "Find things in a crawl by words and type"
    description = (
        "Search what the crawl in JOBDIR has found, also while it runs: things that have all the words, and"
        " with --type a type or one of its subclasses (schema:Recipe, Recipe, or an IRI), and with --not-type"
        " none of these; both can be given several times. A phrase is in quotes, a word after - must"
        " not occur, and lemo* is the beginning of a word. The best come first, by their text and the"
        " PageRank of their page. The index is kept by crawls with SEARCH=1; --rebuild makes one from the"
        " store of a crawl that does not run."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        several: dict[str, Any] = {"action": "append", "default": [], "metavar": "TYPE"}
        add("--type", **several, help="only things of this type, or of another --type")
        add("--not-type", **several, help="no things of this type")
        add("-n", "--most", type=int, default=10, metavar="N", help="how many (default: 10)")
        add("--json", action="store_true", help="write a line of JSON for each thing")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--types", action="store_true", help="list types, and how many things")
        which.add_argument("--predicates", action="store_true", help="list predicates")
        which.add_argument("--vocabularies", action="store_true", help="list vocabularies")
        which.add_argument(
            "--rebuild", action="store_true", help="make the index from store and archive"
        )
        add("--host", default="", metavar="HOST", help="with --vocabularies: those of one host")

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        lists = opts.types or opts.predicates or opts.vocabularies or opts.rebuild
        if not (args or opts.type or lists):
            raise UsageError("give words to search for, --type, or a list: --types, --predicates")
        if opts.host and not opts.vocabularies:
            raise UsageError("--host goes with --vocabularies")
        if not 0 < opts.most <= 200:
            raise UsageError(f"--most must be from 1 to 200, not {opts.most}")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.search.reading import Reader
        from rdfaspider.settings.places import jobdir_of

        if opts.rebuild:
            self._rebuild(jobdir_of(self.settings))
            return 0
        with Reader(jobdir_of(self.settings)) as reader:
            words = " ".join(args)
            if opts.types or opts.predicates or opts.vocabularies:
                _write_terms(_listed(reader, words, opts), as_json=opts.json)
                return 0
            results, answer = _found(reader, words, opts, self._ranks())
        if opts.json:
            for result in results:
                print(json.dumps(_plain(result), ensure_ascii=False))
        else:
            sys.stdout.writelines(_lines(results, answer))
        return 0 if results else 1

    def _ranks(self) -> Ranks:
        """Return how to find the PageRank of pages; without a frontier they have none."""
        from rdfaspider.frontier import FrontierUnavailable, is_shared, open_frontier
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.scheduler.options import security_of
        from rdfaspider.settings.places import frontier_url

        url = frontier_url(self.settings)

        def looker() -> Any:
            if not is_shared(url):
                return FrontierReader(url, delay=0.0)
            security = security_of(self.settings)
            return open_frontier(
                url, security=security, onlooks=True, read_ahead=0, now=time.time()
            )

        def ranks(pages: Any) -> dict[str, float]:
            try:
                with looker() as frontier:
                    found: dict[str, float] = frontier.ranks(pages)
                    return found
            except FrontierUnavailable:
                return {}

        return ranks

    def _rebuild(self, jobdir: Path) -> None:
        from rdfaspider.pipelines.store import store_access
        from rdfaspider.pipelines.texts import archived_texts
        from rdfaspider.search import FOLDER
        from rdfaspider.search.index import Index
        from rdfaspider.search.rebuild import lacking, rebuild
        from rdfaspider.settings.places import store_url
        from rdfaspider.stores import open_store
        from rdfaspider.terminal import StatusLine, plural

        access = store_access(self.settings)
        with (
            open_store(store_url(self.settings), read_only=True, access=access) as store,
            Index(jobdir / FOLDER) as index,
            StatusLine(sys.stderr) as line,
        ):
            texts = partial(archived_texts, self.settings)
            count, without_text = rebuild(
                index, store, lambda so_far: line.show(f"{so_far:,} pages …"), texts
            )
        print(f"{plural(count, 'page')} indexed.")
        if without_text:
            print(lacking(without_text), file=sys.stderr)


def _found(
    reader: Reader, words: str, opts: argparse.Namespace, ranks: Ranks
) -> tuple[list[Result], Answer]:
    types = " ".join([*opts.type, *(f"-{name}" for name in opts.not_type)])
    answer = reader.search(words, types, 0, ranks)
    results = list(answer.results)
    while len(results) < min(opts.most, answer.found):
        results += reader.search(words, types, len(results), ranks).results
    return results[: opts.most], answer


def _listed(reader: Reader, words: str, opts: argparse.Namespace) -> list[Term]:
    if opts.vocabularies:
        return reader.vocabularies(opts.host)
    return reader.types(words) if opts.types else reader.predicates(words)


def _write_terms(terms: list[Term], *, as_json: bool) -> None:
    from rdfaspider.terminal import escaped

    for term in terms:
        if as_json:
            print(json.dumps(term._asdict()))
        else:
            print(f"{term.uses:>12,}  {escaped(term.iri)}")


def _plain(result: Result) -> dict[str, Any]:
    from rdfaspider.search.reading import unmarked

    return {**result._asdict(), "words": unmarked(result.words)}


def _lines(results: list[Result], answer: Answer) -> Iterator[str]:
    from rdfaspider.search.reading import SCORED, unmarked
    from rdfaspider.search.words import short
    from rdfaspider.terminal import escaped, number_of, plural

    if not results:
        yield "Nothing was found.\n"
        return
    if answer.any_of:
        yield "No thing has all the words; these have some.\n"
    for result in results:
        types = ", ".join(map(short, result.types))
        yield f"{escaped(result.name or '(without a name)')}{f'  [{escaped(types)}]' if types else ''}\n"
        if result.subject and result.subject != result.page:
            yield f"  {escaped(result.subject)}\n"
        more = f"  and {plural(result.pages - 1, 'other page')}" if result.pages > 1 else ""
        yield f"  {escaped(result.page)}{more}\n"
        if result.words:
            yield f"  {escaped(unmarked(result.words))}\n"
    count = (
        f"more than {SCORED:,} matches"
        if answer.is_cut
        else number_of(f"{answer.matches:,} match/matches", answer.matches)
    )
    yield f"{len(results)} of {count}.\n"
