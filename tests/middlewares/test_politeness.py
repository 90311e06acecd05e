from __future__ import annotations

import pytest

from rdfaspider.middlewares.politeness import retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"120", 120.0),
        (b" 0 ", 0.0),
        (b"Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        (b"soon", None),
        (b"-5", None),
        (b"1e9", None),
        ("٣".encode(), None),
        (b"", None),
        (None, None),
    ],
)
def test_retry_after(value: bytes | None, seconds: float | None) -> None:
    assert retry_after(value, now=1000.0) == seconds
