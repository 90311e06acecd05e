"""Settings of fetches: how long each part of a fetch may take, and how much memory all may use."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    # A server that is there accepts within a second, from the other side of the world too.
    Setting(
        "FETCH_CONNECT_TIMEOUT",
        "float",
        10.0,
        "Time to find a host and connect to it, TLS included.",
        unit="seconds",
        above=0,
    ),
    # Longer than DOWNLOAD_TIMEOUT: a page that comes after 29 seconds is fetched (row R5).
    Setting(
        "FETCH_FIRST_BYTE_TIMEOUT",
        "float",
        60.0,
        "Time from the connection to the head of the answer. `DOWNLOAD_TIMEOUT` is for the whole page, and"
        " shorter by default.",
        unit="seconds",
        above=0,
    ),
    # Enough for new hosts to come in quickly, and for those that answer never to wait for them.
    Setting(
        "FETCH_UNPROVEN_SHARE",
        "float",
        0.5,
        "Share of `CONCURRENT_REQUESTS` for hosts that are new, or whose last page did not come within 5"
        " seconds, all together.",
        above=0,
        most=1,
    ),
    # Six of the largest pages, or hundreds of usual ones.
    Setting(
        "FETCH_MEMORY_MB",
        "float",
        32.0,
        "Memory for downloads larger than 64 kB and for pages not parsed yet; beyond it, large downloads"
        " wait.",
        unit="megabytes",
        above=0,
    ),
)
