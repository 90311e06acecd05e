"""A worker process: a crawl that uses the frontier and the store of the crawl that started it.

At its end it writes to standard output, as JSON, the growth of its counters since it last reported.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rdfaspider.children import await_end_of_parent, read_task

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    output = os.dup(1)
    os.dup2(2, 1)  # libraries may print
    task = read_task()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(_crawl(json.loads(task), output))


def _end_with_parent() -> None:
    await_end_of_parent()
    os._exit(1)


def _crawl(task: dict[str, Any], output: int) -> int:
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.project import get_project_settings

    from rdfaspider.commands.crawls.crawl import quieten, went_wrong
    from rdfaspider.compat import scheduler_of

    settings = get_project_settings()
    for name, value in task["settings"].items():
        if settings.get(name) != value:  # else it would look as if a user had set it
            settings.set(name, value, "cmdline")
    process = AsyncCrawlerProcess(settings)
    quieten()
    module, _, name = task["spider"].partition(":")
    try:
        spider = getattr(import_module(module), name)
    except (ImportError, AttributeError) as problem:
        print(f"WORKERS needs a spider that can be imported: {problem}", file=sys.stderr)
        return 1
    crawler = process.create_crawler(spider)
    crawl = process.crawl(crawler, **task["arguments"])
    growths: list[Callable[[], dict[str, int]]] = []

    def opened() -> None:
        growths.append(scheduler_of(crawler).growth)  # at the end the engine has no scheduler

    crawler.signals.connect(opened, signals.spider_opened)
    process.start()
    for growth in growths:
        os.write(output, json.dumps(growth()).encode())
    if crawl.done() and not crawl.cancelled() and (error := crawl.exception()) is not None:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return int(process.bootstrap_failed or not crawl.done() or went_wrong(crawler))
