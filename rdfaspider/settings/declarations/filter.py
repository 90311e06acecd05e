"""Settings of the filter of triples."""

from rdfaspider.settings.setting import Setting, whole

_XHTML = "http://www.w3.org/1999/xhtml/vocab#"
_UNMEANT = ("stylesheet", "icon", "shortcut", "apple-touch-icon", "role", "p3pv1")

SETTINGS = (
    # Pages imply these triples without meaning them.
    Setting(
        "FILTER_DROP",
        [f"{term}: * <{_XHTML}{term}> *" for term in _UNMEANT],
        "Triples to drop, each as `label: SUBJECT PREDICATE OBJECT` with terms as in N-Triples and"
        " `*` for anything; or as `label: package.module.function`, which says of a quad whether to drop it"
        " ([library.md](library.md#your-own-parts)).",
        shown_default="`stylesheet`, `icon`, `role` and the like of XHTML",
        syntax="rdfaspider.pipelines.filter.Rules",
    ),
    whole("FILTER_LITERAL_LENGTH", "characters", 100_000, "Drop triples whose literal is longer."),
)
