"""`scrapy remove`: remove pages from the store of a crawl."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rdfaspider.stores.outbox.database import OutboxDatabase
    from rdfaspider.stores.removal import Removal
    from rdfaspider.stores.selection import Selection


class Command(CheckedCommand):
    summary = "Remove pages from the store of a crawl"
    description = (
        "Remove the graphs of pages, hosts or the whole crawl in JOBDIR from its store, with the"
        " facts about their fetches, what waits in the outbox and what is recorded of their"
        " changes. It says how many there are and"
        " asks first. --page and --host can be given several times. This crawl does not fetch"
        " removed pages again; a later one does, unless URLS_REJECT leaves them out."
    )

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError("name what to remove: --page URL, --host HOST or --all")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        several: dict[str, Any] = {"action": "append", "default": []}
        add("--page", **several, metavar="URL", help="the page of this URL")
        add("--host", **several, metavar="HOST", help="all pages of this host")
        add("--all", action="store_true", help="all pages of the crawl")
        add("--dry-run", action="store_true", help="say what would be removed")
        add("--yes", action="store_true", help="do not ask")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.settings.places import store_url
        from rdfaspider.stores.kinds import shown
        from rdfaspider.stores.selection import Selection

        if opts.all == bool(opts.page or opts.host):
            raise ValueError("Say what to remove: --page URL, --host HOST, or --all alone.")
        url = store_url(self.settings)
        selection = Selection.of(opts.page, opts.host)
        with ExitStack() as stack:
            removal = self._open(url, selection, opts.dry_run, stack)
            what = f"{_count(removal)} of {_scope(selection)}"
            if not any(removal.found):
                print(f"There is nothing of {_scope(selection)} in {shown(url)}.")
                if opts.dry_run:
                    return 0
                retired = self._retire(selection)
                removal.remove()  # digests may be left, which would keep it from coming back
                return _say_retired(retired)
            if opts.dry_run:
                print(f"{what} would be removed from {shown(url)}.")
                return 0
            if not (opts.yes or _is_wanted(f"Remove {what} from {shown(url)}?")):
                print("Nothing was removed.")
                return 1
            retired = self._retire(selection)  # first: a page that is visited again would come back
            _remove(removal)
            print(f"Removed {what} from {shown(url)}.")
            return _say_retired(retired)

    def _retire(self, selection: Selection) -> int | None:
        """Have the crawl visit the pages no more, if it visits pages again; return how many there are, None
        if it cannot be told."""
        from rdfaspider import rocksdb
        from rdfaspider.frontier import FrontierUnavailable, is_shared, open_frontier
        from rdfaspider.scheduler.options import security_of
        from rdfaspider.settings.places import frontier_url
        from rdfaspider.terminal import complain

        url = frontier_url(self.settings)
        if not is_shared(url):
            return self._retire_here(url, selection) if rocksdb.is_there(Path(url)) else 0
        try:
            options = {"security": security_of(self.settings), "onlooks": True, "read_ahead": 0}
            frontier: Any
            with open_frontier(url, now=time.time(), **options) as frontier:
                return int(frontier.retire(selection.pattern))
        except FrontierUnavailable as error:
            complain(
                self.name,
                f"{error} A crawl with FRONTIER_REVISIT stores the pages again when it visits them: repeat"
                " this when its frontier can be reached.",
            )
            return None

    def _retire_here(self, path: str, selection: Selection) -> int:
        from rdfaspider.focus.visits.planner import RevisitRules
        from rdfaspider.frontier.engine.local import LocalFrontier
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.scheduler.options import as_begun

        with FrontierReader(path, delay=0.0) as reader:
            if not reader.counts().kept:
                return 0
            begun = as_begun(reader, self.settings)
        with LocalFrontier(path, revisits=RevisitRules(), **begun) as frontier:
            return frontier.retire(selection.pattern)

    def _open(self, url: str, selection: Selection, dry: bool, stack: ExitStack) -> Removal:
        """Open everything that holds triples of the crawl, and keep other writers out."""
        from rdfaspider.pipelines.store import store_access
        from rdfaspider.settings.places import jobdir_of
        from rdfaspider.stores import open_store
        from rdfaspider.stores.kinds import is_embedded
        from rdfaspider.stores.outbox.database import OutboxDatabase
        from rdfaspider.stores.removal import Removal
        from rdfaspider.stores.stream import is_there

        access = store_access(self.settings)
        outbox = jobdir_of(self.settings) / "outbox"
        database = None
        if (outbox / "outbox.sqlite").exists():
            database = OutboxDatabase(str(outbox), target=None, read_only=dry)
            stack.enter_context(database)
        is_own = self._is_own(url, database) if selection.is_everything else lambda graph: True
        open_store(url, read_only=True, access=access).close()  # fails if there is none
        store = stack.enter_context(open_store(url, read_only=dry, access=access))
        embedded = Path(url) if is_embedded(url) else None
        changes = jobdir_of(self.settings) / "changes"
        return stack.enter_context(
            Removal(
                selection,
                store,
                outbox=database,
                embedded=embedded,
                changes=changes if is_there(changes) else None,
                forget=self._forget,
                is_own=is_own,
            )
        )

    def _forget(self, is_removed: Callable[[str], bool]) -> None:
        """Remove pages from the search index."""
        from rdfaspider.search import FOLDER
        from rdfaspider.search.index import NAME, Index
        from rdfaspider.settings.places import jobdir_of

        folder = jobdir_of(self.settings) / FOLDER
        if (folder / NAME).exists():
            with Index(folder) as index:
                index.remove(is_removed)

    def _is_own(self, url: str, database: OutboxDatabase | None) -> Callable[[str], bool]:
        """Return a test for graphs of this crawl; a server may hold others."""
        from rdfaspider.settings.places import jobdir_of
        from rdfaspider.stores.kinds import directory_of, shown, target_of
        from rdfaspider.stores.provenance import crawl_graph

        if directory_of(url):
            return lambda graph: True
        jobdir = jobdir_of(self.settings)
        if database is None or database.target != target_of(url):
            raise ValueError(
                f"{jobdir} does not know which graphs of {shown(url)} belong to this crawl: name them with"
                " --host or --page."
            )
        crawl = crawl_graph(str(jobdir.resolve()))
        return lambda graph: graph == crawl or database.has_sent(graph)


def _count(removal: Removal) -> str:
    from rdfaspider.terminal import plural

    graphs, quads, waiting = removal.found
    text = f"{plural(graphs, 'graph')} with {plural(quads, 'triple')}"
    if waiting == 1:
        text += ", and 1 that waits for the store or was refused,"
    elif waiting:
        text += f", and {waiting:,} that wait for the store or were refused,"
    return text


def _say_retired(pages: int | None) -> int:
    """Say how many pages the crawl visits no more; return the exit code."""
    from rdfaspider.terminal import plural

    if pages:
        print(f"{plural(pages, 'page')} will not be visited again by this crawl.")
    return 1 if pages is None else 0


def _scope(selection: Selection) -> str:
    from rdfaspider.terminal import plural

    if selection.is_everything:
        return "this crawl"
    names = [
        f"{kind} {next(iter(these))}" if len(these) == 1 else plural(len(these), kind)
        for kind, these in (("page", selection.pages), ("host", selection.hosts))
        if these
    ]
    return " and ".join(names)


def _is_wanted(question: str) -> bool:
    from rdfaspider.terminal import confirm

    try:
        return confirm(question)
    except EOFError:
        raise ValueError(
            f"{question} There is no terminal to confirm it: use --yes, or --dry-run to look."
        ) from None


def _remove(removal: Removal) -> None:
    from rdfaspider.terminal import StatusLine

    with StatusLine(sys.stderr) as line:
        removal.remove(lambda count: line.show(f"{count:,} of {removal.found.graphs:,} graphs …"))
