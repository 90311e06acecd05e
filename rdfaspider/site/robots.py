"""robots.txt of the generated hosts, as text and as answers."""

from __future__ import annotations

from functools import lru_cache

from rdfaspider.site.draws import draw
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.tree import section_name
from rdfaspider.site.web import Web

# A robots.txt names at most this many sections, however wide a host is.
_SECTIONS = 1000


def status(web: Web, host: int) -> int:
    """Return what a request for robots.txt answers: 200, 404 (all allowed) or 500 (all denied)."""
    parameters = web.parameters
    if not parameters.robots_missing and not parameters.robots_broken:
        return 200
    chance = draw(parameters.seed, "robots", host)
    if chance < parameters.robots_missing:
        return 404
    return 500 if chance < parameters.robots_missing + parameters.robots_broken else 200


def text(web: Web, host: int, origin: str) -> str:
    """Return the robots.txt of a host whose status is 200."""
    groups = [_group(web, host, agent) for agent in filter(None, (web.parameters.agent, "*"))]
    if web.parameters.sitemaps:
        groups.append(f"Sitemap: {origin}/sitemap.xml\n")
    return "\n".join(groups)


def allows(web: Web, url: str, agent: str = "*") -> bool:
    """Tell whether an agent may ask for a URL; with a broken robots.txt it may not."""
    place = web.place(url)
    if place.path == "/robots.txt":
        return True
    answer = status(web, place.host)
    if answer != 200:
        return answer == 404
    return not place.path.startswith(_forbidden(web.parameters, place.host, agent))


# An oracle asks for page after page of a host.
@lru_cache(maxsize=1024)
def _forbidden(parameters: Parameters, host: int, agent: str) -> tuple[str, ...]:
    """Return the path prefixes that are forbidden to an agent; each group draws its own."""
    if not parameters.disallowed:
        return ()
    own = parameters.agent and agent.lower() == parameters.agent.lower()
    group = parameters.agent if own else "*"
    return tuple(
        f"/{section_name(section)}"
        for section in range(min(parameters.pages, _SECTIONS))
        if draw(parameters.seed, "disallow", host, group, section) < parameters.disallowed
    )


def _group(web: Web, host: int, agent: str) -> str:
    lines = [f"User-agent: {agent}"]
    lines += [f"Disallow: {prefix}" for prefix in _forbidden(web.parameters, host, agent)]
    if len(lines) == 1:
        lines.append("Disallow:")
    if web.parameters.crawl_delay:
        lines.append(f"Crawl-delay: {web.parameters.crawl_delay:g}")
    return "\n".join([*lines, ""])
