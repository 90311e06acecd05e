"""The language of a text, by a detector whose models are in its package.

pycld2 is ten times as fast and takes a tenth of the memory, but has no wheels for some systems; there
py3langid does it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

# Language and certainty in percent; "" and 0 if it cannot be told.
Detector = Callable[[str], tuple[str, int]]

# Characters that are read: more make no difference.
_MOST = 500
# Fewer letters say nothing.
_LEAST = 20

# Names that mean the same: old ones, and Norwegian, which detectors do not take apart.
_ALIASES = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "nb": "no", "nn": "no", "mo": "ro"}


def detect(text: str) -> tuple[str, int]:
    """Return the language of a text and how certain that is, in percent; "" if it cannot be told."""
    text = " ".join(text[: 2 * _MOST].split())[:_MOST]
    if not text.isprintable():
        text = "".join([sign for sign in text if sign.isprintable()])
    if sum(map(str.isalpha, text[: 4 * _LEAST])) < _LEAST:
        return "", 0
    return _detector()(text)


def check_detector() -> None:
    """Raise ValueError if no detector is installed; nothing is loaded."""
    if not (find_spec("pycld2") or find_spec("py3langid")):
        raise ValueError(
            "There is no detector of languages: pip install 'rdfaspider[analysis]' installs one."
        )


@cache
def _detector() -> Detector:
    """Return the best detector that is installed."""
    check_detector()
    try:
        return _pycld2()
    except ImportError:
        return _py3langid()


def _pycld2() -> Detector:
    import pycld2

    def detect(text: str) -> tuple[str, int]:
        try:
            data = text.encode("utf-8", "ignore")
            is_reliable, _, found = pycld2.detect(data, isPlainText=True, bestEffort=True)
        except pycld2.error:  # characters that it does not know
            return "", 0
        _, language, percent, _ = found[0]
        # It has no probability: the share of the text in that language, halved if it doubts it.
        return (
            ("", 0)
            if language == "un"
            else (primary(language), percent if is_reliable else percent // 2)
        )

    return detect


def _py3langid() -> Detector:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier: Any = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(text: str) -> tuple[str, int]:
        language, probability = identifier.classify(text)
        return primary(language), round(100 * float(probability))

    return detect


def primary(tag: str) -> str:
    """Return the language of a tag, without script and region: `no` for `nb-NO`."""
    language = tag.strip().lower().replace("_", "-").partition("-")[0]
    return _ALIASES.get(language, language)
