"""`scrapy export`: what a crawl has found, as N-Quads; and what its outbox could not send."""

from __future__ import annotations

import gzip
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager


class Command(CheckedCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Write the triples of a crawl as N-Quads, or send what its outbox holds"

    def long_desc(self) -> str:
        return (
            "Write everything in the store of the crawl in JOBDIR as N-Quads, to standard output or"
            " a file (compressed if its name ends in .gz). With --outbox write what still waits to be"
            " sent, with --aside what the store refused and why. With --send send all of these"
            " without crawling."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", default="-", help="where to write")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--outbox", action="store_true", help="what waits to be sent")
        which.add_argument("--aside", action="store_true", help="what the store refused")
        which.add_argument("--send", action="store_true", help="send what waits and was refused")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError("scrapy export takes options only")
        try:
            if opts.send:
                self._send()
            else:
                with _output(opts.output) as output:
                    if opts.outbox or opts.aside:
                        self._write_outbox(output, aside=opts.aside)
                    else:
                        self._write_store(output)
        except BrokenPipeError:
            # Who reads has had enough, as `head` does.
            sys.stderr.close()
        except (OSError, ValueError, SyntaxError) as error:
            print(f"scrapy export: {error}", file=sys.stderr)
            self.exitcode = 1

    def _write_store(self, output: BinaryIO) -> None:
        from pyoxigraph import RdfFormat, serialize

        from rdfaspider.pipelines.store import store_access, store_url
        from rdfaspider.stores import open_store

        assert self.settings is not None
        access = store_access(self.settings)
        with open_store(store_url(self.settings), read_only=True, access=access) as store:
            serialize(store.quads(), output, RdfFormat.N_QUADS)

    def _write_outbox(self, output: BinaryIO, *, aside: bool) -> None:
        from rdfaspider.stores.spool import Spool

        assert self.settings is not None
        spool = Spool(str(Path(self.settings["JOBDIR"] or ".") / "outbox"), read_only=True)
        for graph, status, words in spool.aside() if aside else ():
            output.write(f"# {status} <{graph}> {words}\n".encode())
        for change in spool.changes(aside=aside):
            output.write(change.nquads())
        spool.close()

    def _send(self) -> None:
        from rdfaspider.pipelines.store import outbox_options, store_url
        from rdfaspider.stores import open_store
        from rdfaspider.stores.outbox import Outbox

        assert self.settings is not None
        url = store_url(self.settings)
        with open_store(url, **outbox_options(self.settings)) as store:
            if not isinstance(store, Outbox):
                print(f"The store {url} has no outbox: nothing waits.")
                return
            store.replay()
        sent, aside = store.counters["quads"], store.counters["aside"]
        print(f"{sent:,} quads sent, {aside:,} pages refused, {store.spool.pages:,} wait.")
        self.exitcode = int(bool(store.spool.pages))


def _output(name: str) -> AbstractContextManager[BinaryIO]:
    if name == "-":
        return nullcontext(sys.stdout.buffer)
    if name.endswith(".gz"):
        return gzip.open(name, "wb")  # type: ignore[return-value]
    return Path(name).open("wb")
