"""Feeds (`-o items.jl`, FEEDS) of a crawl: one item for each page that was read.

A Page holds what the pipelines and the scheduler need. `PageAdapter` shows Scrapy's exporters,
`scrapy parse` and all other users of `ItemAdapter` the fields that mean something to them.
`FeedExporter` leaves out the Pages of redirects, failures and refusals, unless a feed asks for them:

    FEEDS = {"urls.csv": {"format": "csv", "item_filter": "rdfaspider.feeds.EveryUrl",
                          "fields": ["url", "outcome", "reason"]}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, KeysView
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface
from pyoxigraph import RdfFormat, Triple, serialize
from scrapy.exporters import CsvItemExporter
from scrapy.extensions.feedexport import FeedExporter as ScrapyFeedExporter
from scrapy.extensions.feedexport import ItemFilter

from rdfaspider.items import Page, is_item
from rdfaspider.terminal import inert
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


# Characters that XML cannot contain, even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _fetched(page: Page) -> str:
    """Return the time of the answer, in UTC by ISO 8601."""
    moment = datetime.fromtimestamp(page.fetched, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(name: str) -> Callable[[Page], str]:
    return lambda page: _NOT_XML.sub("", getattr(page, name))


def _quads(page: Page) -> str:
    """Return the statements of a page as N-Quads, which can escape any character."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04X}", page.nquads.decode())


def _count(name: str) -> Callable[[Page], int]:
    return lambda page: page.found.get(name, 0)


def _jsonld(page: Page) -> Any:
    """Return the statements of a page as JSON-LD, without the name of their graph, which is the page's."""
    triples = [Triple(quad.subject, quad.predicate, quad.object) for quad in page.quads]
    return json.loads(serialize(triples, format=RdfFormat.JSON_LD) or b"[]")


# All are flat, so that they look the same in CSV and XML.
FIELDS: dict[str, Callable[[Page], Any]] = {
    "url": lambda page: without_userinfo(page.url),
    "status": attrgetter("status"),
    "fetched": _fetched,
    "depth": attrgetter("depth"),
    "title": _text("title"),
    "language": _text("language"),
    "links": lambda page: len(page.links),
    "triples": attrgetter("quad_count"),
    "triples_rdfa": _count("rdfa"),
    "triples_jsonld": _count("jsonld"),
    "triples_microdata": _count("microdata"),
    "triples_rdf": _count("rdf"),
    "quads": _quads,
}
# Fields that come only where they are named, in FEED_EXPORT_FIELDS or the `fields` of a feed.
ON_REQUEST: dict[str, Callable[[Page], Any]] = {
    "jsonld": _jsonld,
    "outcome": attrgetter("outcome"),
    "reason": attrgetter("reason"),
}
_ALL = FIELDS | ON_REQUEST
_SETTABLE = frozenset(("title", "language"))


class PageAdapter(AdapterInterface):
    """A Page as a mapping of its public fields."""

    item: Page

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, Page)

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        return list(FIELDS)

    def get_field_meta(self, field_name: str) -> MappingProxyType[str, Any]:
        return MappingProxyType({})

    def field_names(self) -> KeysView[str]:
        return FIELDS.keys()

    def __getitem__(self, field_name: str) -> Any:
        return _ALL[field_name](self.item)

    def __contains__(self, field_name: object) -> bool:
        return field_name in _ALL

    def __setitem__(self, field_name: str, value: Any) -> None:
        if field_name not in _SETTABLE:
            raise KeyError(f"{field_name} of a page cannot be set: set an attribute of the Page.")
        setattr(self.item, field_name, value)

    def __delitem__(self, field_name: str) -> None:
        raise KeyError(f"{field_name} of a page cannot be deleted.")

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)


# Before the adapter of dataclasses, which shows every attribute.
ItemAdapter.ADAPTER_CLASSES.appendleft(PageAdapter)  # type: ignore[attr-defined]


class EveryUrl(ItemFilter):
    """Lets through a Page for each answer, refusal and failure, not only for pages that were read."""

    def accepts(self, item: Any) -> bool:
        return not (isinstance(item, Page) and item.outcome == "postponed") and super().accepts(
            item
        )


class CsvExporter(CsvItemExporter):
    """Scrapy's exporter, with cells that a spreadsheet does not run."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        return inert(super().serialize_field(field, name, value))


class _OnlyItems:
    """Asks another filter only about what users call items."""

    def __init__(self, chosen: ItemFilter) -> None:
        self.chosen = chosen

    def accepts(self, item: Any) -> bool:
        return is_item(item) and self.chosen.accepts(item)


class FeedExporter(ScrapyFeedExporter):
    """Scrapy's exporter, without Pages of redirects, failures and refusals."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        for feed, chosen in self.filters.items():
            if not isinstance(chosen, EveryUrl):
                self.filters[feed] = _OnlyItems(chosen)  # type: ignore[assignment]
