"""Settings of fetches: how long each part of one may take, and what all together may hold."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    # A server that is there accepts within a second, from the other side of the world too.
    Setting(
        "FETCH_CONNECT_TIMEOUT",
        "float",
        10.0,
        "Time until a host must be found and connected to, TLS included.",
        unit="seconds",
        above=0,
    ),
    # Longer than DOWNLOAD_TIMEOUT: a page that comes after 29 seconds is fetched (row R5).
    Setting(
        "FETCH_FIRST_BYTE_TIMEOUT",
        "float",
        60.0,
        "Time, once connected, until the head of the answer must be there. `DOWNLOAD_TIMEOUT` is for the"
        " whole page, and by default shorter.",
        unit="seconds",
        above=0,
    ),
    # Enough for new hosts to come in quickly, and for those that answer never to wait for them.
    Setting(
        "FETCH_UNPROVEN_SHARE",
        "float",
        0.5,
        "Share of `CONCURRENT_REQUESTS` that hosts may hold together whose last page did not come within"
        " 5 seconds, or that were not asked yet.",
        above=0,
        most=1,
    ),
    # Six of the largest pages, or hundreds of usual ones.
    Setting(
        "FETCH_MEMORY_MB",
        "float",
        32.0,
        "Memory of downloads larger than 64 kB, and of pages not read yet; beyond it large downloads wait."
        " Only with the download handler of aiohttp, which is the default.",
        unit="megabytes",
        above=0,
    ),
)
