"""Settings of what a crawl tells of itself: the progress line and the history."""

from rdfaspider.settings.setting import number

PROGRESS = (
    number(
        "PROGRESS_INTERVAL",
        "seconds",
        60.0,
        "Time between two progress lines in a log; 0 writes none. A terminal has one line that is"
        " updated in place.",
    ),
)
HISTORY = (
    number(
        "HISTORY_INTERVAL",
        "seconds",
        5.0,
        "Time between two samples of the counters in `JOBDIR/history.jsonl`, for `scrapy report`; it"
        " grows with the crawl, so that the file stays below a megabyte. 0 keeps no history.",
    ),
)
