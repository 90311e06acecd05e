"""What the crawler raises is treated by the installed Scrapy as its own."""

from __future__ import annotations

import pytest
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

from rdfaspider import compat

RETRIED: tuple[type[Exception], ...] = tuple(
    load_object(each) if isinstance(each, str) else each  # type: ignore[misc]
    for each in default_settings.RETRY_EXCEPTIONS
)


@pytest.mark.parametrize("name", [name for name in compat.__all__ if name.endswith("Error")])
def test_failures_are_retried_unless_we_gave_up_ourselves(name: str) -> None:
    error = getattr(compat, name)("the reason")
    assert str(error) == "the reason"
    assert isinstance(error, RETRIED) == (name != "DownloadCancelledError")
