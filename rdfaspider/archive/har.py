"""The pages in a HAR file, which browsers save: one JSON document of all that they have fetched."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from rdfaspider.archive.answers import Answer
from rdfaspider.archive.warc.reader import seconds_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from rdfaspider.archive.answers import Wanted

# Bytes of a file: it is read as a whole, and takes several times as much memory.
_MOST = 1 << 28
# Characters of a media type: those that were met are remembered.
_TYPE = 500


def read_har(path: Path, wanted: Wanted, counts: Counter[str]) -> Iterator[Answer]:
    """Yield the pages of a file; what is no entry is counted as damaged."""
    if path.stat().st_size > _MOST:
        counts["damaged"] += 1
        return
    try:
        entries = json.loads(path.read_bytes())["log"]["entries"]
    except (ValueError, KeyError, TypeError, RecursionError):
        entries = None
    if not isinstance(entries, list):
        counts["damaged"] += 1
        return
    for entry in entries:
        counts["records"] += 1
        try:
            reason, answer = _answer(entry, wanted)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            reason, answer = "unreadable", None
        if answer is None:
            counts[f"skipped/{reason}"] += 1
        else:
            yield answer


def _answer(entry: Any, wanted: Wanted) -> tuple[str, Answer | None]:
    """Return why an entry is left out, or its page."""
    url, date, response = entry["request"]["url"], entry["startedDateTime"], entry["response"]
    headers = [(item["name"].lower(), str(item["value"])) for item in response["headers"]]
    content = response["content"]
    content_type = dict(headers).get("content-type", content.get("mimeType", ""))[:_TYPE]
    if not url.startswith(("http://", "https://")) or "text" not in content:
        return "no page", None
    if not wanted.url(url) or not wanted.date(date):
        return "not asked for", None
    if not 200 <= int(response["status"]) < 300:
        return "status", None
    if not wanted.content_type(content_type):
        return "type", None
    text = content["text"]
    if content.get("encoding") == "base64":
        body = base64.b64decode(text)
    else:
        # The browser has made text of it, so what it says of its encoding is no longer true.
        body = text.encode("utf-8", "surrogatepass")
        content_type = f"{content_type.partition(';')[0]}; charset=utf-8"
    robots = [value for name, value in headers if name == "x-robots-tag"]
    return "", Answer(
        url, seconds_of(date), int(response["status"]), content_type, robots, body[: wanted.most]
    )
