"""Settings of the progress line."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
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
