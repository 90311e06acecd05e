"""A shared crawl as people see it: its workers, its partitions, its seeds; and what it can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.partitions import even_out, rendezvous
from rdfaspider.frontier.redis.address import Address
from rdfaspider.frontier.redis.crew import Crew
from rdfaspider.frontier.redis.link import RedisLink
from rdfaspider.frontier.redis.notices import TOLD, told_number
from rdfaspider.frontier.shared import SharedFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfaspider.frontier.politeness import Politeness


def onlooker(url: str, politeness: Politeness | None = None) -> SharedFrontier:
    """Open a crawl to look at it; FrontierUnavailable if there is none."""
    address = Address.parse(url)
    link = RedisLink(address.url)
    try:
        if not link.command("exists", f"{{{address.crawl}}}:crawl"):
            raise FrontierUnavailable(
                f"There is no crawl {address.crawl} in Redis at {link.url}: run one first, or name"
                " another with crawl=NAME in FRONTIER_URL."
            )
        there = float(link.one(Crew(link, address.crawl, "").beat({}, None, silent=True))[0])
    finally:
        link.close()
    limits = FrontierLimits(depth=0, dynamic_depth=0)
    return SharedFrontier(url, politeness=politeness, limits=limits, read_ahead=0, now=there)


def lines(frontier: SharedFrontier) -> Iterator[str]:
    """Yield what to tell of the workers and the partitions."""
    crew, now = frontier.crew, frontier.redis_time()
    workers = crew.workers()
    told = ", ".join(f"{name}={crew.told[name]}" for name in TOLD if name in crew.told)
    yield f"{frontier.state}{f' with {told}' if told else ''}; {frontier.seeds_waiting:,} seeds wait"
    alive = crew.alive(now)
    present = [name for name in crew.present(now) if name != crew.name]
    owners = rendezvous(frontier.partitions, present) if present else []
    if owners:
        owners = even_out(owners, frontier.loads, present)
    if workers:
        yield f"\n{'heard of':>9} {'held':>6} {'ended':>9} {'a second':>9} {'parts':>6}  worker"
    for worker in workers:
        age, about = now - worker.beat, worker.about
        state = "" if worker.name in alive else " (gone)"
        yield (
            f"{age:>8.1f}s {about.get('held', 0):>6,} {about.get('done', 0):>9,}"
            f" {about.get('rate', 0.0):>9.1f} {owners.count(worker.name):>6}  {worker.name}{state}"
        )
    backlog = frontier.backlog()
    waiting = sorted(count for count, _ in backlog)
    yield (
        f"\n{frontier.partitions} partitions: {waiting[0]:,} to {waiting[-1]:,} URLs waiting,"
        f" {sum(flying for _, flying in backlog):,} in flight"
    )


def tell(frontier: SharedFrontier, text: str) -> None:
    """Tell all workers a setting, as `delay=2.5`; ValueError if it is none they know."""
    name, _, value = text.partition("=")
    if name not in TOLD:
        raise ValueError(
            f"Workers cannot be told {name!r} while they run: choose {', '.join(TOLD)}."
        )
    frontier.crew.tell(**{name: str(told_number(name, value))})
