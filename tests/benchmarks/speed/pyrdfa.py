"""(d) Scrapy with pyRdfa3, the reference processor, and a file of what it found."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from pyRdfa import pyRdfa
from scrapy.http import Response

from tests.benchmarks.speed.contender import COMMON, read_arguments, run
from tests.benchmarks.speed.links import Links


class PyRdfa(Links):
    name = "pyrdfa"

    def items(self, response: Response) -> Iterator[dict[str, Any]]:
        graph = pyRdfa(base=response.url, media_type="text/html").graph_from_source(
            BytesIO(response.body)
        )
        yield {"url": response.url, "triples": graph.serialize(format="nt")}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    arguments = read_arguments()
    feed = Path(arguments.directory) / "items.jsonl"
    settings = {**COMMON, "FEEDS": {str(feed): {"format": "jsonlines"}}}
    run(PyRdfa, settings, arguments, pages=arguments.seeds, follow="yes" * arguments.follow)
