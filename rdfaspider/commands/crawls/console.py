"""`scrapy console`: crawls in a browser, whether they run or not."""

from __future__ import annotations

import asyncio
import secrets
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse


_READY = 3.0  # seconds


class Command(CheckedCommand):
    arguments = "[options] [DIRECTORY …]"
    summary = "Show crawls in a browser, whether they run or not"
    description = (
        "Serve the console for the crawl in JOBDIR, for one with a shared frontier (FRONTIER_URL) and all its"
        " workers, or for all crawls in and below directories, until Ctrl-C. A crawl of one process that"
        " runs is best seen in its own console (CONSOLE_PORT), which can also steer it."
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        from rdfaspider.console.crawls.directories import crawl_of, crawls_in
        from rdfaspider.frontier import is_begun
        from rdfaspider.settings.places import frontier_url

        crawls: dict[str, Any]
        if args:
            crawls = crawls_in(self.settings, [Path(name) for name in args])
            if not crawls:
                raise ValueError(f"There is no crawl in {', '.join(args)[:200]}.")
        else:
            if not is_begun(frontier_url(self.settings)):
                raise ValueError(
                    f"There is no crawl in {self.settings['JOBDIR']}: name its directory."
                )
            crawl = crawl_of(self.settings)
            crawls = {crawl.name: crawl}
        asyncio.run(self._serve(crawls))

    async def _serve(self, crawls: dict[str, Any]) -> None:
        from rdfaspider.console.guards import Guards
        from rdfaspider.console.routes import routes_of
        from rdfaspider.console.server import Server
        from rdfaspider.frontier import FrontierUnavailable

        token = self.settings["CONSOLE_TOKEN"] or secrets.token_urlsafe(24)
        guards = Guards(token, self.settings.getbool("CONSOLE_OPEN_METRICS"))
        server = Server(guards, routes_of(crawls))
        wanted = int(self.settings["CONSOLE_PORT"] or 0)
        try:
            port = await server.start(wanted)
        except OSError as error:
            await server.stop()
            raise ValueError(
                f"The console cannot listen at CONSOLE_PORT={wanted}: {error.strerror or error}."
                " Choose another one, or 0 for any that is free."
            ) from error
        # What is shown first is ready with the address: to open a crawl that was killed takes long. A service
        # that is away is not waited for.
        with suppress(ValueError, FrontierUnavailable, TimeoutError):
            async with asyncio.timeout(_READY):
                await (await next(iter(crawls.values())).current()).overview()
        print(f"The console: http://127.0.0.1:{port}/?token={token}", flush=True)
        ended = asyncio.Event()
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, ended.set)
        await ended.wait()
        await server.stop()
