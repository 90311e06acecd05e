// The page of the hosts: why each waits and until when, its folders, its robots.txt, its errors; the workers.
import {
  html, useState, useEffect, useRef, ask, address, usePoll, use, count, known, rate, duration, date, Link, Card,
} from "/static/common.js";

const COLUMNS = [
  ["name", "host"], ["waiting", "waiting"], ["in_flight", "in flight"], ["done", "done"], ["failed", "failed"],
  ["delay", "delay"], ["ready", "next"],
];
const PAGE = 50;

function next(host, now) {
  if (!host.waiting) return "–";
  return host.ready <= now ? "now" : `in ${duration(host.ready - now)}`;
}

function Head({ order, setOrder }) {
  return html`<tr>${COLUMNS.map(([name, label]) => {
    const sorted = order.sort === name ? (order.descending ? "descending" : "ascending") : null;
    const flip = () => setOrder({ ...order, sort: name, descending: order.sort === name ? !order.descending : name !== "name", offset: 0 });
    return html`<th scope="col" class=${name === "name" ? "" : "n"} aria-sort=${sorted}><button class="plain" onClick=${flip}>${label}</button></th>`;
  })}<th scope="col" class="phone-off">why</th></tr>`;
}

function Table({ order, setOrder }) {
  const [search, setSearch] = useState(order.search);
  useEffect(() => {
    const timer = setTimeout(() => setOrder((before) => before.search === search ? before : { ...before, search, offset: 0 }), 250);
    return () => clearTimeout(timer);
  }, [search]);
  const { data, error } = usePoll("hosts", { ...order, descending: order.descending ? 1 : 0 }, 5);
  const now = Date.now() / 1000;
  const move = (step) => setOrder({ ...order, offset: Math.max(0, order.offset + step * PAGE) });
  const last = data ? Math.min(order.offset + PAGE, data.listed) : 0;
  return html`<${Card} title="${data ? count(data.total) : "…"} hosts" aside=${data && html`as of ${duration(data.age)} ago`}>
    ${data && html`<ul class="chips" aria-label="Why hosts wait">${data.reasons.map(([why, number]) => html`<li>${why} <b>${count(number)}</b></li>`)}</ul>`}
    <div class="tools" style=${{ margin: ".8rem 0 .4rem" }}>
      <label class="hidden" for="search">Search hosts</label>
      <input id="search" type="search" placeholder="Search hosts" value=${search} onInput=${(event) => setSearch(event.target.value)} />
      ${data && html`<span class="small">${order.search && `${count(data.found)} found`}</span>
      <div class="push"><span class="small">${data.listed ? `${count(order.offset + 1)}–${count(last)} of ${count(data.found)}` : ""}</span>
        <button disabled=${!order.offset} onClick=${() => move(-1)}>Previous</button>
        <button disabled=${last >= data.listed} onClick=${() => move(1)}>Next</button></div>`}
    </div>
    ${error && html`<p class="bad">${error}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Hosts"><table>
      <thead><${Head} order=${order} setOrder=${setOrder} /></thead>
      <tbody>${data?.rows.map((host) => html`<tr key=${host.name}>
        <td><a href=${address("/hosts", { name: host.name })}>${host.name}</a></td>
        <td class="n">${count(host.waiting)}</td><td class="n">${count(host.in_flight)}</td><td class="n">${count(host.done)}</td>
        <td class="n">${count(host.failed)}</td><td class="n">${Number(host.delay.toFixed(2))} s</td><td class="n">${next(host, now)}</td>
        <td class="small phone-off">${host.why}</td></tr>`)}</tbody></table></div>
    ${data && !data.rows.length && html`<p class="empty">No host matches.</p>`}
    ${data && data.listed < data.found && last >= data.listed && html`<p class="hint">Only the first ${count(data.listed)} are listed: search, or sort otherwise.</p>`}
  </${Card}>`;
}

function Workers() {
  const { data } = usePoll("workers", {}, 2);
  const before = useRef(new Map());
  if (!data?.length) return null;
  const now = Date.now() / 1000;
  return html`<${Card} title="Workers"><div class="scroll" tabindex="0" role="region" aria-label="Workers"><table>
    <thead><tr><th>worker</th><th class="n">URLs a second</th><th class="n">holds</th><th class="n">ended</th><th class="n">heard</th><th>process</th></tr></thead>
    <tbody>${data.map((worker) => {
      const [time, ended, speed] = before.current.get(worker.name) ?? [now, worker.ended, 0];
      const fresh = now - time >= 1.5 ? (worker.ended - ended) / (now - time) : speed;
      if (now - time >= 1.5 || !before.current.has(worker.name)) before.current.set(worker.name, [now, worker.ended, fresh]);
      return html`<tr key=${worker.name}><td>${worker.name}</td><td class="n">${rate(fresh)}</td><td class="n">${count(worker.held)}</td>
        <td class="n">${count(worker.ended)}</td><td class="n">${worker.silent < 2 ? "now" : `${duration(worker.silent)} ago`}</td>
        <td class="small">${Object.entries(worker.about).map(([name, value]) => `${name} ${value}`).join(" · ")}</td></tr>`;
    })}</tbody></table></div></${Card}>`;
}

function Branch({ branch, isOnly }) {
  const [open, setOpen] = useState(false), [below, setBelow] = useState(null);
  useEffect(() => { if (isOnly) toggle(); }, []);
  const isFolder = branch.urls > 1 || branch.name.endsWith("/");
  const toggle = async () => {
    if (!open && !below) {
      try { setBelow(await ask("tree", { under: branch.name })); } catch (error) { setBelow({ rows: [], error: error.message, is_whole: true, more: 0 }); }
    }
    setOpen(!open);
  };
  const rows = below?.rows.filter((row) => row.name !== branch.name) ?? [];
  const parts = ["done", "kept", "waiting", "failed", "denied"]
    .filter((name) => branch[name]).map((name) => `${count(branch[name])} ${name}`);
  if (branch.done + branch.kept > 0) parts.push(`${known(branch.triples_a_page, rate)} triples a page`);
  return html`<li>${isFolder
    ? html`<button class="plain" aria-expanded=${open} onClick=${toggle}><span class="twist" aria-hidden="true">${open ? "▾" : "▸"}</span>${branch.name}</button>`
    : html`<span class="twist"></span>${branch.name}`} <span class="small">${parts.join(", ")}</span>
    ${open && html`<ul>${rows.map((row) => html`<${Branch} key=${row.name} branch=${row} />`)}
      ${below.error && html`<li class="bad">${below.error}</li>`}
      ${!rows.length && html`<li class="small">nothing below it</li>`}
      ${(below.more > 0 || !below.is_whole) && html`<li class="small">and more</li>`}</ul>`}</li>`;
}

function Robots({ robots }) {
  if (robots.reached === undefined) return html`<h3>${robots.service}</h3><p class="empty">Not fetched yet.</p>`;
  const rules = [...robots.disallow.map((rule) => ["Disallow", rule]), ...robots.allow.map((rule) => ["Allow", rule])];
  return html`<h3>${robots.service}/robots.txt</h3>
    <p>${robots.reached ? "As answered" : "It could not be fetched, so nothing is allowed"}; holds until ${date(robots.expires)}${
      robots.failures > 0 && `, after ${count(robots.failures)} failures`}.
      ${robots.crawl_delay !== null && ` Crawl-delay ${robots.crawl_delay} s.`}</p>
    ${rules.length ? html`<ul class="plain mono">${rules.map(([word, rule]) => html`<li>${word}: ${rule}</li>`)}</ul>`
      : html`<p class="empty">Everything is allowed.</p>`}
    ${robots.sitemaps.length > 0 && html`<p class="small">Sitemaps: ${robots.sitemaps.map((url) => html`<${Link} url=${url} /> `)}</p>`}`;
}

const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function Delay({ name, host, tell }) {
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    if (await use("delay", { seconds: text, host: name }, tell)) setText("");
  };
  return html`<form class="row" onSubmit=${send}><label class="hidden" for="delay">Delay of this host, in seconds</label>
    <input id="delay" class="short" inputmode="decimal" required value=${text} onInput=${(event) => setText(event.target.value)}
      placeholder=${host ? `${Number(host.delay.toFixed(2))} s` : "seconds"} /><button>Set delay</button></form>`;
}

function Host({ name, crawl, tell }) {
  const { data, error } = usePoll("host", { name }, 10);
  const { data: found } = usePoll("hosts", { search: name, sort: "name", descending: 0 }, 5);
  const host = found?.rows.find((row) => row.name === name);
  return html`<div class="headline"><a href=${address("/hosts")}>← All hosts</a><h1>${name}</h1>
      ${host && html`<span class="facts">${host.why}${host.waiting > 0 && ` · next ${next(host, Date.now() / 1000)}`} · delay ${Number(host.delay.toFixed(2))} s</span>`}
      ${crawl.controls && html`<span class="tools push"><${Delay} name=${name} host=${host} tell=${tell} />
        <button onClick=${() => use("requeue", { pattern: `^https?://([^/@]*@)?${quoted(name)}(:\\d+)?/` }, tell)}>Try failed URLs again</button>
        <button class="danger" onClick=${() => use("exclude", { rule: `suffix:${name}` }, tell)}>Exclude this host</button></span>`}</div>
    ${error && html`<div class="banner">${error}</div>`}
    ${data && html`<div class="grid">
      <${Card} kind="half" title="Folders" aside=${!data.tree.is_whole && "of the first URLs"}>
        <div class="tree"><ul>${data.tree.rows.map((row, _, all) => html`<${Branch} key=${row.name} branch=${row} isOnly=${all.length === 1} />`)}</ul></div>
        ${!data.tree.rows.length && html`<p class="empty">This host has no URLs.</p>`}</${Card}>
      <${Card} kind="half" title="robots.txt, as understood">${data.robots.map((each) => html`<${Robots} robots=${each} />`)}
        ${!data.robots.length && html`<p class="empty">Not fetched yet.</p>`}</${Card}>
      <${Card} title="Errors" aside=${!data.errors_are_whole && "there are more"}>
        ${data.errors.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Errors"><table>
          <thead><tr><th>time</th><th class="n">status</th><th class="phone-off">reason</th><th class="n phone-off">attempts</th><th>URL</th><th>found on</th></tr></thead>
          <tbody>${data.errors.map((each) => html`<tr><td class="small">${date(each.time)}</td><td class="n">${each.status || "–"}</td>
            <td class="phone-off">${each.reason === String(each.status) ? "–" : each.reason}</td><td class="n phone-off">${each.attempts}</td><td class="url"><${Link} url=${each.url} /></td>
            <td class="url">${each.referrer ? html`<${Link} url=${each.referrer} />` : "seed"}</td></tr>`)}</tbody></table></div>`
        : html`<p class="empty">None.</p>`}</${Card}></div>`}`;
}

export function Hosts({ crawl, tell }) {
  const name = new URLSearchParams(location.search).get("name");
  const [order, setOrder] = useState({ search: "", sort: "waiting", descending: true, offset: 0 });
  if (name) return html`<${Host} name=${name} crawl=${crawl} tell=${tell} />`;
  return html`<h1 class="hidden">Hosts</h1><div class="grid"><${Workers} /><${Table} order=${order} setOrder=${setOrder} /></div>`;
}
