"""The triple filter (row R12): drops triples that are implied, invalid or too long."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Self

from pyoxigraph import Literal
from scrapy.exceptions import UsageError

from rdfaspider.items import Page, is_valid
from rdfaspider.plugins import is_path, load
from rdfaspider.settings.defaults import completed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector


class Rule:
    """A pattern of a triple, `label: SUBJECT PREDICATE OBJECT`, with * for any part of a term.

    Terms are written as in N-Triples: `stylesheet: * <http://www.w3.org/1999/xhtml/vocab#stylesheet> *`.
    Instead, the dotted path of a function may say which quads match: `label: package.module.function`.
    """

    def __init__(self, text: str) -> None:
        label, colon, pattern = text.partition(": ")
        terms = pattern.split()
        self.label = label
        self.predicate: str | None = None
        if colon and is_path(pattern.strip()):
            self.matches = load(pattern.strip(), "a filter")
            return
        if not colon or len(terms) != 3:
            raise ValueError(f"Not a rule (label: SUBJECT PREDICATE OBJECT): {text!r}.")
        self.predicate = terms[1][1:-1] if "*" not in terms[1] else None
        self._terms = tuple(None if term == "*" else _glob(term) for term in terms)
        self.matches = self._has_terms

    def _has_terms(self, quad: Quad) -> bool:
        terms = (quad.subject, quad.predicate, quad.object)
        return all(
            pattern is None or pattern.fullmatch(str(term))
            for pattern, term in zip(self._terms, terms, strict=True)
        )


class Rules:
    """Many rules. Most name one predicate, so that one look-up is enough for most quads.

    Most pages have none of these predicates, so that none of their quads need be looked at.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        rules = [Rule(text) for text in texts]
        self._of_any = [rule for rule in rules if rule.predicate is None]
        self._of = {
            name: [rule for rule in rules if rule.predicate in (None, name)]
            for name in {rule.predicate for rule in rules}
        }

    def may_match(self, predicates: Iterable[str]) -> bool:
        """Tell whether a quad with one of these predicates may match a rule."""
        return bool(self._of_any) or not self._of.keys().isdisjoint(predicates)

    def label_of(self, quad: Quad) -> str:
        """Return the label of the first rule that matches, "" if none does."""
        for rule in self._of.get(quad.predicate.value, self._of_any):
            if rule.matches(quad):
                return rule.label
        return ""


def _glob(term: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, term.split("*"))), re.DOTALL)


class FilterPipeline:
    """Keeps the quads that match no rule and that every store can take; counts the rest."""

    def __init__(self, stats: StatsCollector, rules: Rules, longest_literal: int) -> None:
        self.stats = stats
        self.rules = rules
        self.longest_literal = longest_literal

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.stats, *rules_of(completed(crawler.settings)))

    def process_item(self, page: Page) -> Page:
        if isinstance(page, Page) and (page.nquads or page.invalid) and self._may_drop(page):
            page.check()
            dropped = Counter({"iri": page.invalid} if page.invalid else ())
            page.invalid = 0
            kept = []
            for quad in page.quads:
                if reason := reason_to_drop(quad, self.rules, self.longest_literal):
                    dropped[reason] += 1
                else:
                    kept.append(quad)
            if dropped:
                page.keep(kept)
            for reason, count in dropped.items():
                self.stats.inc_value(f"filter/dropped/{reason}", count)
        return page

    def _may_drop(self, page: Page) -> bool:
        """Tell whether each quad has to be looked at: the extraction leaves no other fault."""
        return (
            not page.is_checked
            or page.longest > self.longest_literal
            or self.rules.may_match(page.predicates)
        )


def rules_of(settings: BaseSettings) -> tuple[Rules, int]:
    """Return the rules and the longest literal of the settings; raise UsageError for a wrong rule."""
    try:
        rules = Rules(settings.getlist("FILTER_DROP"))
    except ValueError as error:
        raise UsageError(f"FILTER_DROP is wrong: {error}") from error
    return rules, settings.getint("FILTER_LITERAL_LENGTH")


def reason_to_drop(quad: Quad, rules: Rules, longest_literal: int) -> str:
    """Return why a quad is dropped, "" if it is not."""
    if label := rules.label_of(quad):
        return label
    if not is_valid(quad):
        return "iri"
    value = quad.object
    if type(value) is Literal and len(value.value) > longest_literal:
        return "literal"
    return ""
