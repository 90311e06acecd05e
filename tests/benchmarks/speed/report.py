"""What was measured, as a table for people, as JSON and as a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape


@dataclass(frozen=True, slots=True)
class Row:
    """One contender's best run; times are milliseconds a page, memory is megabytes."""

    name: str
    pages_per_second: float
    own: float
    children: float
    memory: int
    children_memory: int
    triples: int | None = None
    agrees: bool | None = None  # with the oracle, triple by triple
    others: float = 0.0  # share of a core that went to strangers
    servers: dict[str, float] = field(default_factory=dict)  # share of their core

    @property
    def per_cpu_second(self) -> float:
        """Pages for a second of CPU time, children included: what a core gives if it is free."""
        return 1e3 / (self.own + self.children)


HEAD = (
    "| contender | pages/s | pages a CPU second | CPU ms a page | of children | triples"
    " | as they must be | MB | of children | strangers | servers |\n"
    "|---|--:|--:|--:|--:|--:|---|--:|--:|--:|---|"
)


def table(rows: Iterable[Row]) -> str:
    return "\n".join([HEAD, *map(_line, rows)])


def _line(row: Row) -> str:
    triples = "" if row.triples is None else f"{row.triples:,}"
    agrees = {None: "", True: "yes", False: "no"}[row.agrees]
    servers = ", ".join(f"{name} {share:.0%}" for name, share in row.servers.items())
    cells = (
        row.name,
        f"{row.pages_per_second:,.1f}",
        f"{row.per_cpu_second:,.1f}",
        f"{row.own:.2f}",
        f"{row.children:.2f}",
        triples,
        agrees,
        str(row.memory),
        str(row.children_memory or ""),
        f"{row.others:.0%}",
        servers,
    )
    return f"| {' | '.join(cells)} |"


def components(samples: Mapping[str, int], own: float) -> str:
    """Tell how the main process' time for a page divides among the components."""
    total = sum(samples.values())
    lines = ["| component | share | CPU ms a page |", "|---|--:|--:|"]
    for name, count in sorted(samples.items(), key=lambda item: -item[1]):
        lines.append(f"| {name} | {count / total:.1%} | {count / total * own:.3f} |")
    return "\n".join(lines)


def chart(rows: list[Row]) -> str:
    """Draw pages a CPU second as bars, longest for the fastest."""
    height, label, width = 26, 250, 420
    most = max(row.per_cpu_second for row in rows)
    parts = []
    for index, row in enumerate(rows):
        top = 30 + index * height
        length = max(1, round(row.per_cpu_second / most * width))
        colour = "#2a6f97" if "rdfaspider" in row.name else "#adb5bd"
        parts += [
            f'<text x="{label - 8}" y="{top + 15}" text-anchor="end">{escape(row.name)}</text>',
            f'<rect x="{label}" y="{top}" width="{length}" height="20" fill="{colour}"/>',
            f'<text x="{label + length + 6}" y="{top + 15}">{row.per_cpu_second:,.0f}</text>',
        ]
    return _svg(label + width + 60, 40 + len(rows) * height, "Pages a second of CPU time", parts)


def curves(title: str, lines: Mapping[str, list[tuple[float, float]]]) -> str:
    """Draw each line over the same axis, scaled to its own greatest value, which is named."""
    width, height, colours = 640, 260, ("#2a6f97", "#e07a5f", "#81b29a", "#3d405b")
    parts = ['<rect x="10" y="30" width="640" height="260" fill="none" stroke="#adb5bd"/>']
    for (name, points), colour in zip(lines.items(), colours, strict=False):
        right = max(x for x, _ in points) or 1
        top = max(y for _, y in points) or 1
        path = " ".join(
            f"{10 + x / right * width:.1f},{290 - y / top * height * 0.95:.1f}" for x, y in points
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        below = 310 + 18 * list(lines).index(name)
        parts.append(
            f'<text x="10" y="{below}" fill="{colour}">{escape(name)}, up to {top:,.0f}</text>'
        )
    return _svg(width + 20, 320 + 18 * len(lines), title, parts)


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="13">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="10" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )
