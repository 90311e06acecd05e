"""Settings of rendering."""

from rdfaspider.settings.setting import Setting, number, whole

SETTINGS = (
    Setting(
        "RENDER",
        "never",
        "Which pages are read as their scripts leave them, in Chromium ([rendering.md](rendering.md)):"
        " `always` renders every HTML page, `auto` those of which rendering is expected to bring enough.",
        choices=("never", "auto", "always"),
    ),
    # More than any web needs of which most pages are plain.
    number(
        "RENDER_SHARE", "", 0.5, "The share of pages that `RENDER=auto` renders at most.", most=1
    ),
    Setting(
        "RENDER_BROWSER",
        "",
        "The path of Chromium, or of a browser made of it; empty: the one that the system has.",
    ),
    # Each takes some 300 MB and most of a core while it renders.
    whole(
        "RENDER_PROCESSES", "browsers", 2, "Browsers, which start when needed.", least=1, most=256
    ),
    # A page with few scripts takes one second, of which politeness to other hosts may be several.
    number(
        "RENDER_TIMEOUT",
        "seconds",
        20.0,
        "Give up on a page that takes longer to render, and read it without its scripts.",
        above=0,
    ),
    whole(
        "RENDER_MEMORY_MB",
        "megabytes",
        1024,
        "Memory of a browser; give up on a page that needs more.",
        least=256,
    ),
    whole("RENDER_REQUESTS", "requests", 20, "Requests that the scripts of a page may make."),
    whole(
        "RENDER_MAX_BYTES",
        "bytes",
        20_000_000,
        "Bytes that the scripts of a page may get, those from the cache included.",
    ),
)
