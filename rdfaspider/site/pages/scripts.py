"""Pages with scripts: real JavaScript, which needs nothing from outside of the generated web.

A page has two views: what the server sends, and what a browser has made of it when nothing more happens.
`scripted` takes a page apart into the one and what its script adds to it. By kind:

    injected   an inline script adds the data as JSON-LD
    manager    the page tells a tag manager, a script on another host, what to add as JSON-LD: its first thing
    router     everything is made from a JSON state; links are followed without loading a page (History API)
    late       everything is made, after a while, from JSON that is fetched from the same host
    external   as injected, but nothing in the HTML shows it: the script is a resource of its own

    hydrated   as router, but the server has sent everything before
    tracker    as manager, but there is nothing to add
    ornament   as external, but the script does nothing

    endless    a script that never ends
    greedy     a script that takes 16 MB of memory a hundred times a second, up to 2 GB
    framed     the data are in a frame, which a script makes; its document is a page of its own, `?frame`
    consent    the data come when a reader presses a button
"""

from __future__ import annotations

import json
from dataclasses import replace

from rdfaspider.site.pages import GeneratedPage, Script, markup
from rdfaspider.site.pages.markup import content, document, embedded, jsonld, jsonld_block

JAVASCRIPT = "text/javascript; charset=utf-8"

# Scripts that many pages share, by path.
SHARED = {
    "/router.js": """"use strict";
(() => {
  const root = document.getElementById("root");
  const show = (page) => {
    const state = JSON.parse(page.getElementById("state").textContent);
    [document.title, document.documentElement.lang] = [state.title, state.language];
    root.innerHTML = state.content;
  };
  const go = async (url, isNew) => {
    const text = await (await fetch(url)).text();
    const page = new DOMParser().parseFromString(text, "text/html");
    if (!page.getElementById("state")) return location.assign(url);
    if (isNew) history.pushState(null, "", url);
    show(page);
  };
  addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || link.origin !== location.origin) return;
    event.preventDefault();
    go(link.href, true);
  });
  addEventListener("popstate", () => go(location.href, false));
  history.replaceState(null, "", location.href);
  show(document);
})();
""",
    "/manager.js": """"use strict";
(() => {
  const add = (event) => {
    if (!event.jsonld) return;
    const block = document.createElement("script");
    [block.type, block.textContent] = ["application/ld+json", event.jsonld];
    document.head.append(block);
  };
  const layer = (window.dataLayer = window.dataLayer || []);
  layer.forEach(add);
  layer.push = (event) => add(event) || Array.prototype.push.call(layer, event);
})();
""",
    "/ornament.js": 'document.documentElement.classList.add("js");\n',
}

_ADD = """{
  const block = document.createElement("script");
  [block.type, block.textContent] = ["application/ld+json", %s];
  document.head.append(block);
}
"""
_LATE = """setTimeout(async () => {
  const state = await (await fetch(%s)).json();
  document.querySelector("main").innerHTML = state.content;
}, 300);
"""
_ENDLESS = "for (;;) {}\n"
_GREEDY = """const eaten = [];
const eat = () => {
  eaten.push(new Uint8Array(1 << 24).fill(1));
  if (eaten.length < 128) setTimeout(eat, 10);
};
eat();
"""
_FRAMED = """const frame = document.createElement("iframe");
frame.src = %s;
document.body.append(frame);
"""
_CONSENT = """const wall = document.getElementById("consent");
wall.querySelector("button").onclick = () => {
  wall.remove();
  %s};
"""


def scripted(page: GeneratedPage, kind: str, manager: str) -> GeneratedPage:
    """Return a page as the server sends it, with the script that makes the rest in a browser."""
    things, links = page.things, page.links
    format_ = "jsonld" if page.format else ""
    match kind:
        case "router" | "late":
            script = Script(kind, page.format, things, links, manager)
            things, links = [], []
        case "injected" | "external" | "consent":
            script = Script(kind, format_, things, [], manager)
            things = []
        case "framed":
            script = Script(kind, "", [], [frame_of(page)], manager)
            things = []
        case _:
            first = things[:1] if kind == "manager" else []
            script = Script(kind, format_, first, [], manager)
            things = things[len(first) :]
    return replace(
        page, format=page.format if things else "", things=things, links=links, script=script
    )


def frame_of(page: GeneratedPage) -> str:
    """Return the path of the frame that has the data of a page."""
    return f"{page.path}?frame"


def render(page: GeneratedPage) -> bytes:
    """Return the HTML document of a page as the server sends it."""
    if page.script is None:
        return markup.render(page)
    script = page.script
    head = jsonld_block(page.format, page.things, page.language)
    body = f"<main>\n{content(page)}</main>\n"
    match script.kind:
        case "injected":
            head += _inline(_addition(page, script))
        case "external":
            head += _external(f"{page.path}?script")
        case "ornament":
            head += _external("/ornament.js")
        case "manager" | "tracker":
            event = {"event": "page", "path": page.path}
            if script.things:
                event["jsonld"] = jsonld(script.things, page.language)
            head += _inline(f"window.dataLayer = [{embedded(event)}];\n")
            head += f'<script async src="{script.manager}"></script>\n'
        case "router" | "hydrated":
            state = embedded(state_of(page))
            block = f'<script id="state" type="application/json">{state}</script>\n'
            shown = "" if script.kind == "router" else state_of(page)["content"]
            head = _external("/router.js")
            body = f'<div id="root">{shown}</div>\n{block}'
        case "late":
            body = f"<main></main>\n{_inline(_LATE % embedded(f'{page.path}?data'))}"
        case "endless":
            body += _inline(_ENDLESS)
        case "greedy":
            body += _inline(_GREEDY)
        case "framed":
            body += _inline(_FRAMED % embedded(frame_of(page)))
        case "consent":
            wall = '<dialog id="consent" open><button>Accept all</button></dialog>\n'
            body += wall + _inline(_CONSENT % _addition(page, script))
    return document(page, head, body)


def state_of(page: GeneratedPage) -> dict[str, str]:
    """Return what the scripts of a page make it from."""
    assert page.script
    script = page.script
    if script.kind != "hydrated":
        page = replace(page, format=script.format, things=script.things, links=script.links)
    shown = content(page) + jsonld_block(page.format, page.things, page.language)
    return {"title": page.title, "language": page.language, "content": shown}


def resource(page: GeneratedPage, query: str) -> tuple[str, str] | None:
    """Return what a page asks its host for by a query, as text and media type; None if it does not."""
    if page.script and (query, page.script.kind) == ("?data", "late"):
        return json.dumps(state_of(page)), "application/json"
    if page.script and (query, page.script.kind) == ("?script", "external"):
        return _addition(page, page.script), JAVASCRIPT
    return None


def _addition(page: GeneratedPage, script: Script) -> str:
    return _ADD % embedded(jsonld(script.things, page.language)) if script.things else ""


def _inline(code: str) -> str:
    return f"<script>\n{code}</script>\n"


def _external(path: str) -> str:
    return f'<script defer src="{path}"></script>\n'
