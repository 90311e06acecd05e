"""Settings of the link graph."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    # On, because it costs a hundredth of a page, and cannot be made up for later.
    Setting(
        "LINKGRAPH",
        True,
        "Keep the links of every page with the frontier, for `scrapy graph` ([linkgraph.md](linkgraph.md)).",
    ),
)
