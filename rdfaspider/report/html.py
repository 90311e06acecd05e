"""The report as one page that needs nothing else: no script, no font, no request.

Everything that comes from the web is escaped. The numbers behind each figure and table are in the page, as
links to CSV.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Sequence
from html import escape

from rdfaspider.report.charts import draw
from rdfaspider.report.model import Cell, Figure, Section, Table
from rdfaspider.terminal import inert

# Nothing may be loaded, whatever a page that was crawled contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# Rows of a table that are shown; its CSV has all.
_ROWS = 25


_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--dim:#5d6875;--rule:#e3e7ec;--card:#f6f8fa;
--c0:#1b6ca8;--c1:#c8553d;--c2:#2a8c4a;--c3:#a97708;--c4:#6a4c93;--c5:#5b6570;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--dim:#9aa6b4;--rule:#2b333d;
--card:#1a2028;--c0:#5aa9e6;--c1:#ee8a6f;--c2:#62c285;--c3:#e0b341;--c4:#b294e0;--c5:#a7b1bc;--link:#7db8f0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:1.5rem 1.2rem 4rem}
h1{font-size:1.9rem;margin:.2rem 0 .2rem;line-height:1.2}
h2{font-size:1.35rem;margin:0 0 .3rem}h3{font-size:1rem;margin:0 0 .15rem}
p{margin:.2rem 0 .8rem;max-width:75ch}.dim,figcaption,caption{color:var(--dim);font-size:.9rem}
a{color:var(--link)}a.csv{font-size:.8rem;white-space:nowrap}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:.7rem 0;border-bottom:1px solid var(--rule)}
section{padding-top:2rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.2rem,1fr));gap:.7rem;margin:1.2rem 0}
.card{background:var(--card);border-radius:.5rem;padding:.7rem .9rem}
.card b{display:block;font-size:1.45rem;line-height:1.2;font-variant-numeric:tabular-nums}
.card span{color:var(--dim);font-size:.85rem}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));
gap:1.6rem 2rem;align-items:start}
figure,.table{margin:0;min-width:0}h3{color:var(--ink)}figcaption p,.table p{margin:.1rem 0 .5rem}
.scroll{overflow-x:auto}.wide{grid-column:1/-1}
table{border-collapse:collapse;font-size:.88rem;width:100%}
th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--rule);vertical-align:top}
td{overflow-wrap:anywhere;min-width:11rem}td.n{min-width:0}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
svg{width:100%;height:auto;display:block;font:11.5px system-ui,sans-serif}
svg text{fill:var(--dim)}svg .grid{stroke:var(--rule);fill:none}svg .axis{stroke:var(--dim);fill:none}
.s0{--c:var(--c0)}.s1{--c:var(--c1)}.s2{--c:var(--c2)}.s3{--c:var(--c3)}.s4{--c:var(--c4)}.s5{--c:var(--c5)}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.dot{fill:var(--c);fill-opacity:.75}
.bar{fill:var(--c)}.fit{fill:none;stroke:var(--c);stroke-dasharray:5 4;stroke-width:1.5}
.key{display:inline-block;width:.8em;height:.8em;border-radius:.15em;background:var(--c);
margin:0 .35em 0 .9em}
ul{margin:.2rem 0 .8rem;padding-left:1.2rem}
@media print{nav,a.csv{display:none}section,figure{break-inside:avoid}main{max-width:none}}
"""


def page(
    title: str,
    lead: str,
    cards: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    numbers: str = "",
) -> str:
    """Return the report as HTML; `cards` are numbers with a word each, `numbers` is JSON to be saved."""
    shown = "".join(
        f'<div class="card"><b>{escape(number)}</b><span>{escape(word)}</span></div>'
        for number, word in cards
    )
    links = "".join(f'<a href="#{each.key}">{escape(each.title)}</a>' for each in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{escape(title)}</h1><p class=dim>{escape(lead)}</p>{_json_link(numbers)}</header>\n"
        f'<div class="cards">{shown}</div>\n<nav aria-label="Sections">{links}</nav>\n'
        + "\n".join(map(_section, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    items = "\n".join(
        _figure(item) if isinstance(item, Figure) else _table(item) for item in section.shown
    )
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in section.facts)
    return (
        f'<section id="{section.key}"><h2>{escape(section.title)}</h2><p>{escape(section.sentence)}</p>'
        + (f"<ul>{facts}</ul>" if facts else "")
        + (f"<p class=dim>{escape(section.note)}</p>" if section.note else "")
        + f'<div class="grid">{items}</div></section>'
    )


def _figure(figure: Figure) -> str:
    keys = ""
    if len(figure.names) > 1:
        keys = "".join(
            f'<span class="key s{number % 6}"></span>{escape(name)}'
            for number, name in enumerate(figure.names)
        )
    return (
        f'<figure id="{figure.key}"><figcaption><h3>{escape(figure.title)} {_csv_link(figure)}</h3>'
        f"<p>{escape(figure.sentence)} {keys}</p></figcaption>{draw(figure)}</figure>"
    )


def _table(table: Table) -> str:
    rows = table.cells[:_ROWS]
    head = "".join(
        f"<th scope=col{_kind(rows[0][place])}>{escape(column)}</th>"
        for place, column in enumerate(table.columns)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{_kind(cell)}>{escape(written(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    left = len(table.cells) - len(rows)
    more = f"<p class=dim>{left:,} more rows are in the CSV.</p>" if left else ""
    wide = " wide" if len(table.columns) > 4 else ""
    return (
        f'<div class="table{wide}" id="{table.key}"><h3>{escape(table.title)} {_csv_link(table)}</h3>'
        f"<p class=dim>{escape(table.sentence)}</p>"
        f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{more}</div>"
    )


def _kind(cell: Cell) -> str:
    return "" if isinstance(cell, str) else " class=n"


def written(cell: Cell) -> str:
    """Return a cell as people read it."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.3g}" if abs(cell) < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def csv_of(rows: Sequence[Sequence[Cell]]) -> str:
    """Return rows as CSV."""
    file = io.StringIO()
    csv.writer(file).writerows([inert(cell) for cell in row] for row in rows)
    return file.getvalue()


def _json_link(numbers: str) -> str:
    if not numbers:
        return ""
    data = b64encode(numbers.encode("utf-8", "replace")).decode()
    address = f"data:application/json;base64,{data}"
    return f'<p><a class="csv" download="report.json" href="{address}">All numbers as JSON</a></p>'


def _csv_link(item: Figure | Table) -> str:
    data = b64encode(csv_of(item.rows()).encode("utf-8", "replace")).decode()
    name = escape(f"{item.title} as CSV", quote=True)
    address = f"data:text/csv;base64,{data}"
    return f'<a class="csv" aria-label="{name}" download="{item.key}.csv" href="{address}">CSV</a>'
