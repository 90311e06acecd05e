"""Settings of what is kept of pages."""

from rdfaspider.settings.setting import Setting

SETTINGS = (
    # It costs less than a hundredth of a page's CPU (docs/pages.md).
    Setting(
        "PAGES",
        True,
        "Keep a row of metadata of each page with the frontier, and mark copies ([pages.md](pages.md)).",
    ),
    Setting(
        "PAGES_COLUMNS",
        [],
        "Columns of your own in the table of pages, each as `name: package.module.function`"
        " ([pages.md](pages.md#columns-of-your-own)).",
        syntax="rdfaspider.pages.own.OwnColumns",
    ),
    # During the crawl it takes a seventh of a page's CPU.
    Setting(
        "PAGES_ANALYSE",
        "after",
        "When to sketch pages, for near copies, and to detect their languages: `after` the crawl from its"
        " archive (`scrapy pages --analyse`, which the summary names), `during` it, or not at all (`off`).",
        choices=("after", "during", "off"),
    ),
)
