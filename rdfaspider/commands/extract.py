"""`scrapy extract`: print the triples of one page."""

from __future__ import annotations

import mimetypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import BaseSettings

    from rdfaspider.extract import Extraction

_STANDARD_INPUT = "http://localhost/"


class Command(CheckedCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] FILE | URL | -"

    def short_desc(self) -> str:
        return "Print the triples in a page: a file, a URL or standard input"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--base", metavar="URL", help="the URL the page is to be read as")
        parser.add_argument("--content-type", metavar="TYPE", help="for example text/html")
        parser.add_argument(
            "--format",
            choices=("nquads", "turtle", "jsonld"),
            default="nquads",
            help="how to print the triples (default: nquads)",
        )
        parser.add_argument(
            "--explain",
            action="store_true",
            help="print what was found, what was left out and why, and what a crawl would drop",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one page: the name of a file, a URL, or - for standard input")
        from rdfaspider.extract import extract
        from rdfaspider.pipelines.extract import options_from
        from rdfaspider.urls import normalise

        assert self.settings is not None
        options = options_from(self.settings)
        try:
            body, url, content_type = _read(args[0], self.settings)
            url = normalise(opts.base) if opts.base else url
            extraction = extract(body, url, opts.content_type or content_type, options)
        except (OSError, ValueError) as error:
            print(f"scrapy extract: {error}", file=sys.stderr)
            self.exitcode = 1
            return
        if opts.explain:
            sys.stdout.writelines(_explain(extraction, self.settings))
            return
        _write(extraction.quads, opts.format)
        print(
            f"{len(extraction.quads):,} triples, {len(extraction.links):,} links in {url}",
            file=sys.stderr,
        )


def _explain(extraction: Extraction, settings: BaseSettings) -> Iterator[str]:
    """Say what is known of the page and of its triples, a line each."""
    from collections import Counter

    from rdfaspider.pipelines.filter import reason_to_drop, rules_of

    facts = extraction.facts
    for name in ("host", "encoding", "title", "language", "base", "canonical"):
        if value := getattr(facts, name):
            yield f"{name:<10} {value}\n"
    for name in ("noindex", "nofollow"):
        if getattr(facts, name):
            yield f"{name:<10} the page asks for it\n"
    yield f"{'links':<10} {len(extraction.links):,}\n"
    followed = settings.getint("EXTRACT_MAX_LINKS")
    if len(extraction.links) > followed:
        beyond = len(extraction.links) - followed
        yield f"left out: links {beyond:,} if all are in scope (EXTRACT_MAX_LINKS is {followed:,})\n"
    for name, count in facts.quads.items():
        yield f"{name:<10} {count:,} triples\n"
    rules, longest = rules_of(settings)
    dropped = Counter(reason_to_drop(quad, rules, longest) for quad in extraction.quads)
    for kind, counts in (
        ("left out", facts.cuts),
        ("warning", facts.warnings),
        ("a crawl drops", {reason: count for reason, count in dropped.items() if reason}),
    ):
        for reason, count in sorted(counts.items()):
            yield f"{kind}: {reason} {count:,}\n"


def _read(argument: str, settings: Mapping[str, Any]) -> tuple[bytes, str, str]:
    """Return the body, the URL and the content type of what the argument names."""
    if argument == "-":
        return sys.stdin.buffer.read(), _STANDARD_INPUT, "text/html"
    if argument.startswith(("http://", "https://")):
        return _fetch(argument, settings)
    path = Path(argument)
    content_type, _ = mimetypes.guess_type(path.name)
    return path.read_bytes(), path.resolve().as_uri(), content_type or "text/html"


def _fetch(url: str, settings: Mapping[str, Any]) -> tuple[bytes, str, str]:
    from urllib.request import Request, urlopen

    request = Request(url, headers={"User-Agent": settings["USER_AGENT"]})
    with urlopen(request, timeout=float(settings["DOWNLOAD_TIMEOUT"])) as response:
        body: bytes = response.read(int(settings["DOWNLOAD_MAXSIZE"]))
        return body, response.url, response.headers.get("Content-Type", "text/html")


def _write(quads: list[Any], name: str) -> None:
    import pyoxigraph
    from pyoxigraph import RdfFormat, Triple

    if name == "nquads":
        pyoxigraph.serialize(quads, sys.stdout.buffer, format=RdfFormat.N_QUADS)
    else:
        # One page is one graph: its name would only be in the way.
        kind = RdfFormat.TURTLE if name == "turtle" else RdfFormat.JSON_LD
        triples = [Triple(quad.subject, quad.predicate, quad.object) for quad in quads]
        prefixes = {"schema": "http://schema.org/", "dcterms": "http://purl.org/dc/terms/"}
        pyoxigraph.serialize(triples, sys.stdout.buffer, format=kind, prefixes=prefixes)
    sys.stdout.buffer.flush()
