"""Settings of the search index."""

from rdfaspider.settings.setting import Setting, whole

SETTINGS = (
    # It costs some 1.5 ms of CPU and 8 kB of disk for a page (docs/search.md).
    Setting(
        "SEARCH",
        False,
        "Keep a full-text index of what is stored, for `scrapy search` and the console"
        " ([search.md](search.md)).",
    ),
    # What a page is about is most often said at its beginning.
    whole(
        "SEARCH_TEXT",
        "characters",
        5_000,
        "Index this much of the text of a page; 0 indexes only its title and statements.",
        least=0,
        most=20_000,
    ),
)
