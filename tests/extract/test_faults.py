from __future__ import annotations

from rdfaspider.extract import Limits, Options, extract


def faults(text: bytes, **limits: int) -> int:
    options = Options(limits=Limits(**limits))
    return extract(text, "http://a.test/", "text/html", options).facts.faults


def test_limits_and_wishes_are_no_faults() -> None:
    assert faults(b"<a rel=nofollow href=/1>1</a><a rel=nofollow href=/2>2</a>") == 0
    assert faults(b"<p>" + b"x" * 5_000, body=1_000) == 0
    assert faults(b"<a href=/1>1</a><a href=/2>2</a>", links=1) == 0


def test_statements_that_are_not_written_as_they_should_be_are() -> None:
    assert faults(b'<script type="application/ld+json">{"@context": </script>') == 1
