"""`scrapy site`: serve a generated web, or say what a crawl of it must find."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse

    from rdfaspider.site.web import Web

# Webs of up to this many pages are counted before they are served; that takes a moment.
_COUNTED = 10_000


class Command(CheckedCommand):
    summary = "Serve a generated web whose pages and triples are known"
    description = (
        "Serve a generated web on loopback: each page is a function of the seed and its URL, so any"
        " number of hosts costs no memory. The server is also an HTTP proxy for all hosts; --proxy"
        " prints how to use it. --oracle serves nothing and prints what a crawl must find."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        from rdfaspider.site.parameters import add_options

        super().add_options(parser)
        group = parser.add_argument_group("what to do")
        group.add_argument("--port", type=int, default=8000, help="0 takes any (default 8000)")
        group.add_argument("--proxy", action="store_true", help="print how to crawl all hosts")
        group.add_argument("--access-log", type=Path, metavar="FILE", help="a line per request")
        group.add_argument(
            "--oracle",
            choices=("counts", "urls", "triples"),
            help="do not serve, but print what a crawl from the first root must find",
        )
        group.add_argument("--depth", type=int, help="links the oracle follows (default levels)")
        group.add_argument(
            "--rendered", action="store_true", help="the oracle sees pages as a browser does"
        )
        add_options(parser)

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.site.parameters import read_options
        from rdfaspider.site.web import Web

        super().check_usage(args, opts)
        try:
            self._web = Web(read_options(opts))
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        import asyncio
        import errno

        web = self._web
        if opts.oracle:
            _print_oracle(web, opts)
            return
        try:
            asyncio.run(_serve(web, opts))
        except KeyboardInterrupt:  # that is how it ends
            print()
        except OverflowError as error:  # a port beyond 65535
            raise ValueError(error) from error
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ValueError(
                    f"port {opts.port} is taken; choose another, --port 0 takes any free one"
                ) from error
            raise


async def _serve(web: Web, opts: argparse.Namespace) -> None:
    import asyncio
    from contextlib import ExitStack

    from rdfaspider.site.server import serve
    from rdfaspider.terminal import as_typed

    with ExitStack() as stack:
        log = opts.access_log and stack.enter_context(opts.access_log.open("a", buffering=1))
        async with serve(web, port=opts.port, log=log) as url:
            print(as_typed(_greeting(web, url, opts.proxy)), flush=True)
            await asyncio.Event().wait()


def _greeting(web: Web, url: str, proxy: bool) -> str:
    """Say what is served, where, and how to crawl it."""
    from rdfaspider.site.oracle import Oracle

    hosts, expected = web.parameters.hosts, web.parameters.hosts * web.tree.count
    if expected <= _COUNTED:
        pages, triples = Oracle(web).counts()
        size = f"{pages:,} pages with {triples:,} triples"
    else:
        size = f"up to {expected:,} pages"
    places = f" on {hosts:,} hosts" if hosts > 1 else ""
    command = f"scrapy crawl rdfa -a seeds={web.url(0, 0) if proxy else url + '/'}"
    if proxy:
        command = f"http_proxy={url} {command}"
    return f"{url} serves {size}{places}. Ctrl-C stops it. To crawl it:\n\n    {command}\n"


def _print_oracle(web: Web, opts: argparse.Namespace) -> None:
    """Print what a crawl from the first root gets, `depth` links deep, obeying robots.txt."""
    from pyoxigraph import RdfFormat, serialize

    from rdfaspider.site.oracle import Oracle

    oracle = Oracle(web)
    seed = web.url(0, 0) if opts.proxy else f"http://127.0.0.1:{opts.port}/"
    depth = web.parameters.levels if opts.depth is None else opts.depth
    agent, rendered = web.parameters.agent or "*", opts.rendered
    reach = oracle.reachable([seed], depth, agent=agent, rendered=rendered)
    if opts.oracle == "urls":
        for url in reach.pages:
            print(url)
    elif opts.oracle == "triples":
        for url in reach.pages:
            sys.stdout.flush()
            quads = sorted(oracle.triples(url, rendered=rendered), key=str)
            serialize(quads, sys.stdout.buffer, RdfFormat.N_QUADS)
    else:
        pages, triples = oracle.counts(rendered=rendered)
        found = sum(len(oracle.triples(url, rendered=rendered)) for url in reach.pages)
        print(f"exist: {pages} pages, {triples} triples")
        print(f"within {depth} links of {seed}: {len(reach.pages)} pages, {found} triples")
