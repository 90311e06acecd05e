"""`python -m rdfaspider.site` serves a generated web and prints its URL as the first line."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path

from rdfaspider.site.parameters import add_options, read_options
from rdfaspider.site.server import serve
from rdfaspider.site.web import Web


async def run(web: Web, arguments: argparse.Namespace) -> None:
    """Serve until interrupted or, with --stdin, until standard input ends."""
    ended = asyncio.Event()
    if arguments.stdin:
        asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    with contextlib.ExitStack() as stack:
        log = arguments.access_log and stack.enter_context(arguments.access_log.open("a", 1))
        async with serve(web, port=arguments.port, start=arguments.start, log=log) as url:
            print(url, flush=True)
            await ended.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rdfaspider.site", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port, 0 for any that is free")
    parser.add_argument("--start", type=float, default=0.0, help="the web's time at the start")
    parser.add_argument("--access-log", type=Path, help="file for a line per request")
    parser.add_argument("--stdin", action="store_true", help="end when standard input does")
    add_options(parser)
    arguments = parser.parse_args()
    try:
        asyncio.run(run(Web(read_options(arguments)), arguments))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
