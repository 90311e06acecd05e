"""What a page costs through rdflib, beside pyRdfa3 and extruct. Run by name with -s.

pytest tests/benchmarks/test_library.py -s
"""

from __future__ import annotations

import io
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rdflib import Graph

from rdfaspider.extract import Options, extract

URL = "http://site.example/page"
RDFA = Options(formats=frozenset(("rdfa",)))


def milliseconds(call: Callable[[], object], rounds: int = 5) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best * 1000


def by_ours(body: bytes) -> Graph:
    return Graph().parse(data=body, format="rdfa", publicID=URL)


def by_pyrdfa3(body: bytes) -> Graph:
    import pyRdfa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = pyRdfa.options.Options(output_processor_graph=False)
        processor = pyRdfa.pyRdfa(options, base=URL, media_type="text/html")
        graph: Graph = processor.graph_from_source(io.BytesIO(body))
    return graph


def test_real_pages(vectors: Path) -> None:
    print("\npage, triples: extract, rdflib with ours, pyRdfa3, extruct; ms of CPU")
    totals = [0.0, 0.0]
    for path in sorted((vectors / "pages").glob("*.html")):
        body = path.read_bytes()
        graph = by_ours(body)
        alone = milliseconds(partial(extract, body, URL, "text/html", RDFA))
        plugin = milliseconds(partial(by_ours, body))
        reference = milliseconds(partial(by_pyrdfa3, body), 2)
        totals[0] += plugin
        totals[1] += reference
        words = f"{path.stem}, {len(graph):,}: {alone:.1f}, {plugin:.1f}, {reference:.0f}"
        if find_spec("extruct"):
            import extruct

            try:
                other = milliseconds(
                    partial(extruct.extract, body, base_url=URL, syntaxes=["rdfa"]), 2
                )
                words += f", {other:.0f}"
            except Exception as error:  # its own faults
                words += f", {type(error).__name__}"
        print(words)
    assert totals[1] > 5 * totals[0]
