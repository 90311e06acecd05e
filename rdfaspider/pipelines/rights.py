"""What a page and its server reserve, as facts that are kept with the page.

tdm-reservation  rights of text and data mining are reserved (TDMRep: a file of the service, which a header of
                 the answer overrides, which a meta element of the page overrides)
noai, noimageai  no training with the page, or with its images (robots directives, in a header or in meta)
no-training      the same, in robots.txt (DisallowAITraining, Content-Signal, Content-Usage)
noarchive        no copies (a robots directive)

The other signals count wherever they are given. The licence of a page is the first link with rel=license.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.extract.facts import DIRECTIVES, Facts, address_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SIGNALS = ("tdm-reservation", "noai", "noimageai", "no-training", "noarchive")


class Rights(NamedTuple):
    """The signals of a page, and the addresses of its policy and its licence, "" for none."""

    signals: tuple[str, ...] = ()
    policy: str = ""
    license: str = ""


def rights_of(
    url: str,
    facts: Facts,
    directives: Collection[str],
    tdm: Iterable[tuple[str, str]] = (),
    *,
    no_training: bool = False,
) -> Rights:
    """Return what a page reserves, by its facts and the robots directives of its answer.

    `tdm` are reservations and policies given outside the page, the strongest last: those of the file of its
    service, then those of the headers of its answer.
    """
    found = {*facts.signals, *DIRECTIVES.intersection(directives)}
    reservation = policy = ""
    for given, terms in (*tdm, (facts.reservation, facts.policy)):
        if given.strip() in ("0", "1"):  # what is absent, or anything else, changes nothing
            reservation = given.strip()
        if terms.strip() and given.strip() != "0":
            policy = address_of(url, terms.strip()) or policy
    if reservation == "1":
        found.add("tdm-reservation")
    else:
        policy = ""  # there is nothing that it could give terms for
    if no_training:
        found.add("no-training")
    if facts.noarchive or "noarchive" in directives:
        found.add("noarchive")
    return Rights(tuple(name for name in SIGNALS if name in found), policy, facts.license)
