"""Settings of the history of a crawl."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
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
