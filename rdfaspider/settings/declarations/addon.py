"""Settings of the add-on for other projects."""

from rdfaspider.settings.setting import Setting

_PARTS = ("triples", "robots", "politeness")

SETTINGS = (
    Setting(
        "ADDON_PARTS",
        list(_PARTS),
        "Parts that `rdfaspider.Addon` adds to another Scrapy project ([library.md](library.md)); `frontier`"
        " is only there if asked for.",
        choices=(*_PARTS, "frontier"),
        shown_default="`triples,robots,politeness`",
    ),
)
