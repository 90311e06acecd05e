"""The language of a text is told, by either detector."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfaspider.pages import language
from rdfaspider.pages.language import Detector, check_detector, detect, primary
from rdfaspider.site.pages.words import LANGUAGES, SENTENCES


@pytest.fixture(params=["_pycld2", "_py3langid"])
def detector(request: pytest.FixtureRequest) -> Detector:
    try:
        made: Detector = getattr(language, request.param)()
    except ImportError as error:
        pytest.skip(f"not installed here: {error}")
    return made


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages_are_told(detector: Detector, name: str) -> None:
    found, certainty = detector(" ".join(SENTENCES[name]))
    assert found == name
    assert 50 < certainty <= 100


@settings(max_examples=50)
@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    found, certainty = detect(text)
    assert 0 <= certainty <= 100 and bool(found) >= bool(certainty)


@pytest.mark.parametrize("text", ["", "1 2 3 " * 1000, "word", "\x00\ud800" * 100])
def test_what_says_too_little_has_no_language(text: str) -> None:
    assert detect(text) == ("", 0)


@pytest.mark.parametrize(
    ("tag", "name"),
    [("de-AT", "de"), ("EN_us", "en"), ("nb", "no"), ("nn-NO", "no"), ("iw", "he"), ("", "")],
)
def test_tags_are_compared_by_their_language(tag: str, name: str) -> None:
    assert primary(tag) == name


def test_a_missing_detector_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    check_detector()
    monkeypatch.setitem(sys.modules, "pycld2", None)
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(ValueError, match=r"pip install 'rdfaspider\[analysis\]'"):
        check_detector()
