"""`scrapy extract`: print the triples of one page."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from scrapy.exceptions import UsageError

from rdfaspider.secrets import masked
from rdfaspider.settings.command import CheckedCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from rdfaspider.extract import Extraction, Limits

_STANDARD_INPUT = "http://localhost/"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")

# Types that say nothing: then the name in the URL decides.
_SILENT = (
    *("", "text/plain", "binary/octet-stream"),
    *("application/gzip", "application/octet-stream", "application/x-gzip"),
)

# The setting for each limit, by the name of the cut.
_SETTINGS = {"body": "EXTRACT_MAX_BYTES", "quads": "EXTRACT_MAX_QUADS"}

_ROLE = "http://www.w3.org/1999/xhtml/vocab#role"

# Control characters in UTF-8. They only occur in strings, where every format can escape them.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


class _Unreadable(ValueError):
    """Says in a sentence why there is no page to read."""


class _Source(NamedTuple):
    body: bytes
    url: str
    content_type: str


class Command(CheckedCommand):
    arguments = "[options] FILE | URL | -"
    summary = "Print the triples in a page: a file, a URL or standard input"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--base", metavar="URL", help="read the page as if it were at this URL")
        add("--content-type", metavar="TYPE", help="for example text/html")
        add(
            "--rdfa",
            choices=("1.0", "1.1"),
            default="",
            help="the version of RDFa (default: what the page declares)",
        )
        add(
            "--format",
            choices=("nquads", "turtle", "jsonld"),
            default="nquads",
            help="how to print the triples (default: nquads)",
        )
        add(
            "--render",
            action="store_true",
            help="run the scripts of the page in Chromium first (RENDER_BROWSER)",
        )
        add("--links", action="store_true", help="print the links instead of the triples")
        add(
            "--explain",
            action="store_true",
            help="print what was found, what was left out and why, and what a crawl would drop",
        )

        add(
            "--compare",
            action="store_true",
            help="print the triples of RDFa that only pyRdfa3 (-) or only rdfaspider (+) finds; exit code 0"
            " if there are none, 1 if there are some, 2 if pyRdfa3 cannot read the page",
        )

    def check_usage(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("give one page: the name of a file, a URL, or - for standard input")

    def work(self, args: list[str], opts: argparse.Namespace) -> int | None:
        from rdfaspider.extract import extract
        from rdfaspider.pipelines.extract import options_from
        from rdfaspider.terminal import accept_all, plural

        accept_all(sys.stderr)
        settings = self.settings
        options = replace(options_from(settings), anchors=False, rdfa=opts.rdfa)
        source = _source(args[0], opts, settings)
        if opts.render:
            source = _rendered(source, settings)
        if opts.compare:
            return _compare(source, opts.rdfa)
        # An explanation counts roles too, which a crawl may leave out.
        extraction = extract(*source, replace(options, role=options.role or opts.explain))
        if extraction.facts.is_out_of_memory:
            raise _Unreadable(f"{args[0]} takes more memory to read than a page may.")
        if opts.explain:
            sys.stdout.writelines(_explain(extraction, options.limits, settings))
            return 0
        if opts.links:
            sys.stdout.writelines(f"{link}\n" for link in extraction.links)
        else:
            left = memoryview(_written(extraction, opts.format))
            while left:  # with PYTHONUNBUFFERED only a part may be written at a time
                left = left[sys.stdout.buffer.write(left) :]
            sys.stdout.buffer.flush()
        counts = (
            f"{plural(len(extraction.quads), 'triple')}, {plural(len(extraction.links), 'link')}"
        )
        print(f"{counts} in {masked(source.url)}", file=sys.stderr)
        return 0


def _rendered(source: _Source, settings: BaseSettings) -> _Source:
    """Return the page as its scripts leave it."""
    from rdfaspider.commands.trials._rendered import rendered
    from rdfaspider.items import RENDERED_TYPE

    if not source.url.startswith(("http://", "https://")):
        raise _Unreadable("--render needs a URL of the web: --base URL gives a file one.")
    document = rendered(source.body, source.url, source.content_type, settings)
    return _Source(document, source.url, RENDERED_TYPE)


def _compare(source: _Source, version: str) -> int:
    """Print where our triples and those of pyRdfa3 differ; return 0 if they do not."""
    from rdfaspider.extract import compare
    from rdfaspider.terminal import complain, escaped, plural

    try:
        found = compare(*source, version)
    except ValueError as error:
        complain("extract", error)
        return 2
    for mark, triples in (("-", found.theirs), ("+", found.ours)):
        sys.stdout.writelines(f"{mark} {escaped(triple)} .\n" for triple in triples)
    if not found:
        print(f"pyRdfa3 reads the same in {masked(source.url)}", file=sys.stderr)
        return 0
    print(
        f"{plural(len(found.ours), 'triple')} of rdfaspider's and {plural(len(found.theirs), 'triple')} of"
        f" pyRdfa3's differ in {masked(source.url)}",
        file=sys.stderr,
    )
    return 1


def _source(argument: str, opts: argparse.Namespace, settings: BaseSettings) -> _Source:
    """Return the page that the argument names, with the URL and type that the options give it."""
    from scrapy.http.headers import Headers

    from rdfaspider.commands.trials._pagefile import unpacked
    from rdfaspider.middlewares.contenttype import unwanted
    from rdfaspider.urls import normalise

    limit = settings.getint("DOWNLOAD_MAXSIZE")
    size = limit + 1 if limit else -1
    source = _read(argument, size, settings)
    try:
        body = unpacked(source.body, size)
        url = normalise(opts.base) if opts.base else source.url
    except ValueError as error:
        raise _Unreadable(f"{argument}: {error}") from error
    if not body:
        raise _Unreadable(f"{argument} is empty.")
    if limit and len(body) > limit:
        raise _Unreadable(f"{argument} has more than {limit:,} bytes (DOWNLOAD_MAXSIZE).")
    content_type = opts.content_type or source.content_type
    if unwanted(Headers({"Content-Type": content_type})):
        raise _Unreadable(
            f"{argument} is {content_type}, which is not read; --content-type TYPE treats it as another type."
        )
    return _Source(body, url, content_type)


def _read(argument: str, size: int, settings: BaseSettings) -> _Source:
    if argument == "-":
        if sys.stdin is None:
            raise _Unreadable("Standard input is closed.")
        return _Source(sys.stdin.buffer.read(size), _STANDARD_INPUT, "text/html")
    found = _SCHEME.match(argument)
    scheme = found[1].lower() if found else ""
    if scheme in ("http", "https"):
        return _fetched(argument, settings)
    if scheme == "file":
        parts = urlsplit(argument)
        if parts.netloc not in ("", "localhost"):
            raise _Unreadable(f"{argument} is on another machine.")
        return _from_file(Path(url2pathname(parts.path)), argument, size)
    if scheme:
        raise _Unreadable(f"{argument} is neither a file nor an http or https URL.")
    return _from_file(Path(argument), argument, size)


def _from_file(path: Path, argument: str, size: int) -> _Source:
    from rdfaspider.commands.trials._pagefile import type_of

    try:
        with path.open("rb") as file:
            body = file.read(size)
        url = path.resolve().as_uri()
    except OSError as error:
        raise _Unreadable(f"{argument}: {error.strerror}.") from error
    except ValueError as error:  # not a valid file name
        raise _Unreadable(f"{argument}: {error}.") from error
    return _Source(body, url, type_of(path.name) or "text/html")


def _fetched(url: str, settings: BaseSettings) -> _Source:
    from scrapy.utils.log import configure_logging

    from rdfaspider.commands.trials._pagefile import type_of
    from rdfaspider.commands.trials._webpage import fetch

    configure_logging({"LOG_ENABLED": False})  # the handler warns of what we say in a sentence
    page = fetch(url, settings)
    content_type = (page.headers.get("Content-Type") or b"").decode("utf-8", "surrogateescape")
    if content_type.partition(";")[0].strip().lower() in _SILENT:
        content_type = type_of(urlsplit(page.url).path) or content_type or "text/html"
    return _Source(page.body, page.url, content_type)


def _explain(extraction: Extraction, limits: Limits, settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each thing that is known about the page and its triples."""
    from rdfaspider.pipelines.filter import reason_to_drop, rules_of
    from rdfaspider.terminal import escaped, plural

    facts = extraction.facts
    for name in ("host", "encoding", "rdfa", "title", "language", "base", "canonical"):
        if value := getattr(facts, name):
            label = "version" if name == "rdfa" else name
            yield f"{label:<10} {escaped(value)}\n"
    for name in ("noindex", "nofollow"):
        if getattr(facts, name):
            yield f"{name:<10} the page asks for it\n"
    yield f"{'links':<10} {len(extraction.links):,}\n"
    for name, count in facts.quads.items():
        yield f"{name:<10} {plural(count, 'triple')}\n"
    for reason, count in sorted(facts.cuts.items()):
        yield f"left out: {reason} {count:,}{_bound(reason, limits)}\n"
    for reader, trace in facts.errors.items():
        yield f"failed: {reader} {escaped(trace.rpartition(chr(10))[2])}\n"
    for reason, count in sorted(facts.warnings.items()):
        yield f"warning: {reason} {count:,}\n"
    followed = settings.getint("EXTRACT_MAX_LINKS")
    if 0 < followed < len(extraction.links):
        more = len(extraction.links) - followed
        yield f"a crawl drops: links {more:,} or more (EXTRACT_MAX_LINKS is {followed:,})\n"
    rules, longest = rules_of(settings)
    reads_roles = settings.getbool("EXTRACT_ROLE")
    dropped: Counter[str] = Counter()
    for quad in extraction.quads:
        is_role = quad.predicate.value == _ROLE and not reads_roles
        dropped["role" if is_role else reason_to_drop(quad, rules, longest)] += 1
    kept = dropped.pop("", 0)
    for reason, count in sorted(dropped.items()):
        yield f"a crawl drops: {reason} {plural(count, 'triple')}\n"
    yield f"a crawl keeps: {plural(kept, 'triple')}\n"


def _bound(reason: str, limits: Limits) -> str:
    """Return the limit that cut something, with the name of its setting if it has one."""
    if not hasattr(limits, reason):
        return ""
    more = "" if reason in ("body", "links") else " or more"  # reading ended there
    return f"{more} ({_SETTINGS.get(reason, 'the limit')} is {getattr(limits, reason):,})"


def _written(extraction: Extraction, name: str) -> bytes:
    import pyoxigraph
    from pyoxigraph import RdfFormat

    quads = extraction.quads
    if name == "nquads":
        written = pyoxigraph.serialize(quads, format=RdfFormat.N_QUADS)
    else:
        # One page is one graph, so its name is left out.
        kind = RdfFormat.TURTLE if name == "turtle" else RdfFormat.JSON_LD
        prefixes = {"schema": "http://schema.org/", "dcterms": "http://purl.org/dc/terms/"}
        triples = [quad.triple for quad in quads]
        written = pyoxigraph.serialize(triples, format=kind, prefixes=prefixes)
    return _CONTROLS.sub(_escaped, written or b"")


def _escaped(control: re.Match[bytes]) -> bytes:
    return f"\\u{ord(control[0].decode()):04X}".encode()
