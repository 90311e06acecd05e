"""Settings that choose which links are followed, and in which form."""

from rdfaspider.settings.setting import Setting
from rdfaspider.urls import defaults

_RULES = (
    "`suffix:example.org`, `extension:pdf`, `keyword:login`, `regex:^https://…`,"
    " `python:package.module.function`"
)

SETTINGS = (
    Setting(
        "URLS_ACCEPT",
        [],
        f"Follow only URLs that match one of these rules ({_RULES}); an empty list accepts all.",
        syntax="rdfaspider.urls.filters.Filters",
    ),
    Setting(
        "URLS_REJECT",
        list(defaults.NO_PAGES),
        "Do not follow URLs that match one of these rules.",
        shown_default="extensions that are never pages",
        syntax="rdfaspider.urls.filters.Filters",
    ),
    Setting(
        "URLS_TRANSFORMS",
        [],
        "Applied to each URL: `WWW`, which takes `www.example.org` for `example.org`, `DIRECTORY_INDEX`,"
        " which takes `/a/index.html` for `/a/`, and pairs of a regular expression and its replacement, as"
        " JSON.",
        syntax="rdfaspider.settings.syntax.transforms",
    ),
    Setting(
        "URLS_DROP_PARAMETERS",
        list(defaults.TRACKING),
        "Query parameters to drop; `utm_*` drops all that begin with `utm_`.",
        shown_default="tracking parameters",
    ),
    # A session id makes one page many (row W6).
    Setting(
        "URLS_DROP_SESSIONS",
        True,
        "Drop session ids, and parameters that turn out to choose no page.",
    ),
    # Off, because the order of a query may matter to a server.
    Setting("URLS_SORT_QUERY", False, "Sort the parameters of a query."),
    Setting(
        "URLS_TRAPS",
        {},
        'Limits of the trap rules that differ from the defaults; 0 switches a rule off: `{"repeats": 0}`.',
        syntax="rdfaspider.settings.syntax.traps",
    ),
)
