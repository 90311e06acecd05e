"""`scrapy export`: write the triples of a crawl as RDF, or send what its outbox holds."""

from __future__ import annotations

import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from pyoxigraph import Quad

    from rdfaspider.stores import PageStore, Store
    from rdfaspider.stores.dump import Format
    from rdfaspider.stores.outbox.database import OutboxDatabase
    from rdfaspider.stores.selection import Selection
    from rdfaspider.terminal import StatusLine

# Graphs are counted up to this number, since each takes memory.
_GRAPHS = 1_000_000
# Quads between two updates of the status line.
_STEP = 1 << 12
_FILTERS = ("host", "topic", "type", "predicate")
# Pages that are asked for at a time.
_PAGES = 500


class Command(CheckedCommand):
    summary = "Write the triples of a crawl as RDF, or send what its outbox holds"
    description = (
        "Write what is in the store of the crawl in JOBDIR to standard output or a file: as"
        " N-Quads (.nq), TriG (.trig), JSON-LD (.jsonld), N-Triples (.nt) or Turtle (.ttl), by the"
        " file's name or --format, compressed if the name ends in .gz, .bz2 or .zst. The file"
        " appears when it is complete. --host, --topic, --type and --predicate choose a part, and can be"
        " given several times; --construct chooses it in SPARQL. --void describes the crawl instead."
        " --outbox writes what still waits to be sent, --aside what the store refused and why. --send"
        " sends both without crawling."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", default="-", help="where to write")
        add("--format", metavar="FORMAT", help="nquads, trig, jsonld, ntriples or turtle")
        several: dict[str, Any] = {"action": "append", "default": []}
        add("--host", **several, metavar="HOST", help="only the pages of this host")
        add("--topic", **several, metavar="TOPIC", help="only the pages about this topic")
        add("--type", **several, metavar="IRI", help="only the triples of things of this type")
        add("--predicate", **several, metavar="IRI", help="only the triples with this predicate")
        add(
            "--construct",
            metavar="QUERY",
            help="the result of this CONSTRUCT query: text, FILE or -",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--void",
            action="store_true",
            help="a description of the crawl by VoID and DCAT, with its hosts, types and properties",
        )
        which.add_argument("--outbox", action="store_true", help="what waits to be sent")
        which.add_argument("--aside", action="store_true", help="what the store refused")
        which.add_argument("--send", action="store_true", help="send what waits and was refused")

    def work(self, args: list[str], opts: argparse.Namespace) -> int:
        from rdfaspider.stores.dump import format_of
        from rdfaspider.stores.selection import Selection

        _check(opts)
        kind = format_of(opts.output, opts.format)
        selection = Selection.of(hosts=opts.host, types=opts.type, predicates=opts.predicate)
        if opts.send:
            return self._send()
        if opts.aside:
            self._write_refused(opts.output, kind)
        elif opts.void:
            self._describe(opts.output, kind)
        elif opts.outbox:
            with self._database() as database:
                _write(_waiting(database), opts.output, kind)
        else:
            self._write_store(opts, selection, kind)
        return 0

    def _write_store(self, opts: argparse.Namespace, selection: Selection, kind: Format) -> None:
        from rdfaspider.commands.results._store import open_to_read

        with open_to_read(self.settings, self.name) as store:
            if opts.construct is None:
                _write(self._selected(store, selection, opts.topic), opts.output, kind)
            else:
                quads = _constructed(store, opts.construct)
                _write(quads, opts.output, kind, has_pages=False)

    def _selected(
        self, store: PageStore, selection: Selection, topics: Sequence[str]
    ) -> Iterable[Quad]:
        """Return what is selected, of pages about any of some topics if there are some."""
        if not topics:
            return store.select(selection)
        pages = sorted(filter(selection.has_page, self._pages_about(topics)))
        if not pages:
            raise ValueError(f"No page with triples is about {' or '.join(topics)}.")
        parts = (pages[start : start + _PAGES] for start in range(0, len(pages), _PAGES))
        return chain.from_iterable(
            store.select(replace(selection, pages=frozenset(part), hosts=frozenset()))
            for part in parts
        )

    def _pages_about(self, topics: Sequence[str]) -> Iterator[str]:
        """Yield the graphs of the pages with triples about any of some topics or their sub-topics."""
        from rdfaspider.frontier.views.pages import records_of
        from rdfaspider.frontier.views.reader import FrontierReader
        from rdfaspider.pages.table import is_about
        from rdfaspider.settings.places import frontiers_of
        from rdfaspider.urls import to_iri

        with ExitStack() as stack:
            paths = frontiers_of(self.settings)
            readers = [stack.enter_context(FrontierReader(path, delay=0.0)) for path in paths]
            for record in records_of([reader.pages for reader in readers], None):
                if record.triples and any(is_about(record, topic) for topic in topics):
                    yield to_iri(record.url)

    def _describe(self, name: str, kind: Format) -> None:
        from rdfaspider.report.gather import gather, places_of
        from rdfaspider.report.rdf import quads_of
        from rdfaspider.terminal import StatusLine, complain

        with StatusLine(sys.stderr) as line:
            found = gather(places_of(self.settings), line.show)
        for reason in found["missing"].values():
            complain(self.name, reason)
        _write(quads_of(found), name, kind, has_pages=False)

    def _outbox(self) -> Path:
        from rdfaspider.settings.places import jobdir_of

        return jobdir_of(self.settings) / "outbox"

    def _database(self) -> OutboxDatabase:
        from rdfaspider.stores.outbox.database import OutboxDatabase

        return OutboxDatabase(str(self._outbox()), read_only=True)

    def _write_refused(self, name: str, kind: Format) -> None:
        """Write what the store refused as N-Quads, with its messages as comments."""
        from rdfaspider.terminal import plural

        if kind.name != "nquads":
            raise ValueError("Refused pages are written as N-Quads only: --format nquads.")
        pages = 0
        with _output(name) as output:
            for text in self._refusals():
                output.write(text)
                pages += 1
        verb = "was" if pages == 1 else "were"
        print(f"{plural(pages, 'page')} {verb} refused.", file=sys.stderr)

    def _refusals(self) -> Iterator[bytes]:
        """Yield each page that the embedded store or the server of the outbox refused, and why."""
        from rdfaspider.settings.places import store_url
        from rdfaspider.stores.embedded.journal import refused_in
        from rdfaspider.stores.kinds import is_embedded

        url = store_url(self.settings)
        is_store = is_embedded(url) and (Path(url) / "LOCK").exists()
        if is_store:
            yield from (text for _, text in refused_in(Path(url)))
        if not is_store or (self._outbox() / "outbox.sqlite").exists():
            with self._database() as database:
                for change, status, words in database.refused():
                    yield f"# {status} <{change.graph}> {words}\n".encode() + change.nquads()

    def _send(self) -> int:
        from rdfaspider.pipelines.store import outbox_options
        from rdfaspider.settings.places import store_url
        from rdfaspider.stores import open_outbox
        from rdfaspider.stores.kinds import is_embedded

        url = store_url(self.settings)
        if is_embedded(url):
            print(f"The store {url} has no outbox: nothing waits.")
            return 0
        self._database().close()  # fails if there is none
        with open_outbox(url, **outbox_options(self.settings)) as outbox:
            outbox.send_refused()
        sent, refused = outbox.counters["quads"], outbox.counters["refused"]
        waiting = outbox.backlog.pages
        print(f"{sent:,} quads sent, {refused:,} pages refused, {waiting:,} wait.")
        return int(bool(waiting))


def _check(opts: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    given = [f"--{name}" for name in _FILTERS if getattr(opts, name)]
    if opts.construct is not None:
        given.append("--construct")
        if len(given) > 1:
            raise ValueError(f"{given[0]} and --construct cannot go together: say it in the query.")
    for other in ("void", "outbox", "aside", "send"):
        if given and getattr(opts, other):
            raise ValueError(f"{given[0]} is about the store and cannot go with --{other}.")


def _constructed(store: Store, argument: str) -> Iterator[Quad]:
    from pyoxigraph import Quad, QueryBoolean, QuerySolutions

    from rdfaspider.commands.results._store import query_in
    from rdfaspider.terminal import complain

    results = store.query(query_in(argument))
    if isinstance(results, QueryBoolean | QuerySolutions):
        raise ValueError(
            "--construct needs a CONSTRUCT or DESCRIBE query; for rows use scrapy sparql."
        )
    if store.hint:
        complain("export", store.hint)
    return (Quad(each.subject, each.predicate, each.object) for each in results)


def _waiting(database: OutboxDatabase) -> Iterator[Quad]:
    from pyoxigraph import RdfFormat, parse

    for change in database.waiting():
        yield from parse(change.nquads(), RdfFormat.N_QUADS, lenient=True)


def _write(quads: Iterable[Quad], name: str, kind: Format, *, has_pages: bool = True) -> None:
    """Write quads and say how many there were."""
    from rdfaspider.stores.dump import write
    from rdfaspider.terminal import StatusLine, plural

    tally = _Tally()
    # On one terminal the status line would mix with the output.
    quiet = name == "-" and sys.stdout.isatty()
    with StatusLine(sys.stderr, is_shown=not quiet) as line, _output(name) as output:
        write(tally.watch(quads, line), output, kind)
    where = "" if name == "-" else f" in {name}, {Path(name).stat().st_size:,} bytes"
    graphs = f" of {tally.graphs}" if has_pages else ""
    triples = plural(tally.quads, "triple")
    print(f"{triples}{graphs} written as {kind.name}{where}.", file=sys.stderr)
    if has_pages and not kind.has_graphs:
        print(
            f"{kind.name} has no named graphs, so the page of each triple is lost; nquads, trig and jsonld"
            " keep it.",
            file=sys.stderr,
        )


def _output(name: str) -> AbstractContextManager[BinaryIO]:
    from rdfaspider.stores.dump import create
    from rdfaspider.terminal.data import output_of

    return nullcontext(output_of(sys.stdout)) if name == "-" else create(name)


class _Tally:
    """Counts quads and their graphs, and shows the progress."""

    def __init__(self) -> None:
        self.quads = 0
        self._graphs: set[int] = set()

    @property
    def graphs(self) -> str:
        from rdfaspider.terminal import plural

        more = "more than " if len(self._graphs) == _GRAPHS else ""
        return more + plural(len(self._graphs), "graph")

    def watch(self, quads: Iterable[Quad], line: StatusLine) -> Iterator[Quad]:
        last = None
        for quad in quads:
            self.quads += 1
            if quad.graph_name != last:
                last = quad.graph_name
                if len(self._graphs) < _GRAPHS:
                    self._graphs.add(hash(last))
            if not self.quads % _STEP:
                line.show(f"{self.quads:,} triples of {self.graphs} …")
            yield quad
