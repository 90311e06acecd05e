// The frame of all pages: where one is, how the crawl is, what is done to it.
import { html, render, useState, useEffect, address, usePoll, use, Dialog } from "/static/common.js";
import { Crawl } from "/static/crawl.js";
import { Hosts } from "/static/hosts.js";
import { Query } from "/static/query.js";
import { Search } from "/static/search.js";
import { Thing } from "/static/thing.js";

const PAGES = [["/", "Crawl"], ["/hosts", "Hosts"], ["/search", "Search"], ["/query", "Query"]];

// With several crawls: which one is looked at.
function Chooser() {
  const { data } = usePoll("crawls", {}, 60);
  if (!data || data.length < 2) return null;
  const chosen = new URLSearchParams(location.search).get("crawl") ?? data[0].name;
  const choose = (event) => { location.search = new URLSearchParams({ crawl: event.target.value }); };
  return html`<label class="hidden" for="crawl">Crawl</label><select id="crawl" onChange=${choose}>
    ${data.map(({ name }) => html`<option selected=${name === chosen}>${name}</option>`)}</select>`;
}

function Bar({ crawl, away, tell }) {
  const [asks, setAsks] = useState(false);
  const state = away ? "away" : crawl?.state ?? "away";
  return html`<header class="bar"><div>
    <a class="skip" href="#content">To the content</a>
    <a class="brand" href=${address("/")}><img src="/static/icon.svg" alt="" />rdfaspider</a>
    <${Chooser} />
    <nav aria-label="Pages">${PAGES.map(([path, name]) => html`<a href=${address(path)}
      aria-current=${location.pathname === path ? "page" : null}>${name}</a>`)}</nav>
    <div class="push">
      <span class="pill ${state.replaceAll(" ", "-")}" role="status">${away ? "no answer" : state}</span>
      ${crawl?.controls && !away && state !== "stopping" && html`
        ${state === "paused"
          ? html`<button class="primary" onClick=${() => use("resume", {}, tell)}>Resume</button>`
          : html`<button onClick=${() => use("pause", {}, tell)}>Pause</button>`}
        <button class="danger" onClick=${() => setAsks(true)}>Stop</button>`}
    </div></div>
    ${asks && html`<${Dialog} title="Stop the crawl?" close=${() => setAsks(false)}>
      <p>What is in flight ends first. The command of the crawl resumes it later.</p>
      <button class="danger" onClick=${async () => { setAsks(false); await use("stop", {}, tell); }}>Stop it</button>
    </${Dialog}>`}
  </header>`;
}

function App() {
  const { data: crawl, error } = usePoll("crawl");
  const [notice, tell] = useState("");
  useEffect(() => {
    if (!notice) return undefined;
    const timer = setTimeout(() => tell(""), 6000);
    return () => clearTimeout(timer);
  }, [notice]);
  useEffect(() => { if (crawl) document.title = `${crawl.name} · ${crawl.state}`; }, [crawl?.name, crawl?.state]);
  const Page = { "/hosts": Hosts, "/query": Query, "/search": Search, "/thing": Thing }[location.pathname] ?? Crawl;
  return html`<${Bar} crawl=${crawl} away=${Boolean(error)} tell=${tell} />
    <main id="content">
      ${error && html`<div class="banner" role="alert">${error}</div>`}
      ${crawl ? html`<${Page} crawl=${crawl} tell=${tell} />` : !error && html`<p class="empty">Asking the crawl …</p>`}
    </main>
    <div aria-live="polite">${notice && html`<div class="notice">${notice}</div>`}</div>`;
}

render(html`<${App} />`, document.getElementById("app"));
