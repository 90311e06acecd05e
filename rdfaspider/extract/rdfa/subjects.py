"""Who an element speaks about: steps 5 and 6 of the processing sequence.

Each function answers with the new subject, the current object resource and the typed resource.
"""

from __future__ import annotations

from rdfaspider.extract.rdfa.context import Context
from rdfaspider.extract.triples.graph import Labels

Resources = tuple[str, str | None, str | None]


def related_by(
    context: Context,
    about: str | None,
    linked: str | None,
    attributes: dict[str, str],
    labels: Labels,
) -> Resources:
    """Return them for an element with @rel or @rev (step 6)."""
    subject = about or context.target
    if "typeof" not in attributes:
        return subject, linked, None
    if about is not None:
        return subject, linked, subject
    typed = linked or labels.fresh()
    return subject, typed, typed


def valued(
    context: Context,
    is_root: bool,
    about: str | None,
    linked: str | None,
    attributes: dict[str, str],
    labels: Labels,
) -> Resources:
    """Return them for an element with a @property whose value may be a resource (step 5.1)."""
    subject = about or context.target
    if "typeof" not in attributes:
        return subject, None, None
    if about is not None or is_root:
        return subject, None, subject
    typed = linked or labels.fresh()
    return subject, typed, typed


def described(
    context: Context,
    is_rooted: bool,
    named: str | None,
    attributes: dict[str, str],
    labels: Labels,
) -> Resources | None:
    """Return them for any other element (step 5.2); None when it must be skipped.

    The root, and in HTML head and body, stand for the document unless they name something else.
    """
    has_type = "typeof" in attributes
    subject = named
    if subject is None:
        if has_type and not is_rooted:
            subject = labels.fresh()
        elif is_rooted or "property" in attributes:
            subject = context.target
        else:
            return None
    return subject, None, subject if has_type else None
