"""Every setting that is checked, by component: its type, range, default and text.

To add one: put it into the file of its component, prefix it by the component's name, give the unit in
the name where it is not seconds, say why the default is what it is in a comment, and run
`python -m tests.settings.document`.
"""

from __future__ import annotations

from rdfaspider.settings.declarations import (
    addon,
    archive,
    console,
    extract,
    fetch,
    filter,
    frontier,
    linkgraph,
    pages,
    politeness,
    render,
    reports,
    resolver,
    robots,
    scrapys,
    search,
    store,
    urls,
)
from rdfaspider.settings.setting import Setting


def _with_files(settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """Return the settings, each secret one followed by the setting of the file that may hold it."""
    declared: list[Setting] = []
    for setting in settings:
        declared.append(setting)
        if setting.secret:
            text = f"A file whose first line is `{setting.name}`; used unless that is set directly."
            declared.append(Setting(f"{setting.name}_FILE", "", text))
    return tuple(declared)


OWN: dict[str, tuple[Setting, ...]] = {
    "addon": addon.SETTINGS,
    "archive": archive.SETTINGS,
    "console": _with_files(console.SETTINGS),
    "extract": extract.SETTINGS,
    "fetch": fetch.SETTINGS,
    "filter": filter.SETTINGS,
    "frontier": _with_files(frontier.SETTINGS),
    "history": reports.HISTORY,
    "linkgraph": linkgraph.SETTINGS,
    "pages": pages.SETTINGS,
    "politeness": politeness.SETTINGS,
    "progress": reports.PROGRESS,
    "render": render.SETTINGS,
    "resolver": resolver.SETTINGS,
    "robots": robots.SETTINGS,
    "search": search.SETTINGS,
    "store": _with_files(store.SETTINGS),
    "urls": urls.SETTINGS,
}
COMPONENTS = {**OWN, "scrapy": scrapys.SETTINGS}
DECLARED = {setting.name: setting for settings in COMPONENTS.values() for setting in settings}
PREFIXES = tuple(f"{component.upper()}_" for component in OWN)
SECRETS = frozenset(name for name, setting in DECLARED.items() if setting.secret)


def masked(name: str, value: object) -> str:
    """Return the value of any setting as it may be shown: without its secrets."""
    return DECLARED[name].shown(value) if name in DECLARED else str(value)
