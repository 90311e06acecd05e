"""Settings of what a crawl tells of itself: the progress line and the history."""

from rdfaspider.settings.setting import Setting

PROGRESS = (
    Setting(
        "PROGRESS_INTERVAL",
        "float",
        60.0,
        "Time between two progress lines in a log; 0 writes none. A terminal has one line that is"
        " updated in place.",
        unit="seconds",
        least=0,
    ),
)
HISTORY = (
    Setting(
        "HISTORY_INTERVAL",
        "float",
        5.0,
        "Time between two samples of the counters in `JOBDIR/history.jsonl`, for `scrapy report`; it"
        " grows with the crawl, so that the file stays below a megabyte. 0 keeps no history.",
        unit="seconds",
        least=0,
    ),
)
