"""Settings of the archive."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    Setting(
        "ARCHIVE",
        False,
        "Keep every answer as it came, in WARC files under `JOBDIR/archive` ([archive.md](archive.md)).",
    ),
    # What most archives have, and what copies well.
    Setting(
        "ARCHIVE_FILE_MB",
        1024,
        "Begin a new file when one has this size.",
        unit="megabytes",
        least=1,
    ),
    Setting("ARCHIVE_REQUESTS", True, "Keep the requests too, without passwords and cookies."),
    Setting(
        "ARCHIVE_REVISITS",
        True,
        "Keep a body that is known already as a reference to the first one (a revisit record).",
    ),
)
