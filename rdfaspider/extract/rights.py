"""What a page and its server reserve, as facts that are kept with the page.

tdm-reservation  rights of text and data mining are reserved (TDMRep: a header, a meta element, or a file of
                 the service)
noai, noimageai  no training with the page, or with its images (robots directives, in a header or in meta)
no-training      the same, in robots.txt (DisallowAITraining, Content-Signal, Content-Usage)
noarchive        no copies (a robots directive)

A signal counts wherever it is given. Its licence is the first link with rel=license.
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

    `tdm` are reservations and policies from elsewhere: the headers of the answer, the file of its service.
    """
    found = {*facts.signals, *DIRECTIVES.intersection(directives)}
    policies = []
    for reservation, policy in tdm:
        if reservation.strip() == "1":
            found.add("tdm-reservation")
        policies.append(policy.strip())
    if no_training:
        found.add("no-training")
    if facts.noarchive or "noarchive" in directives:
        found.add("noarchive")
    policy = next(filter(None, policies), "")  # that of the answer before that of the service
    address = address_of(url, policy) if policy else facts.policy
    return Rights(tuple(name for name in SIGNALS if name in found), address, facts.license)
