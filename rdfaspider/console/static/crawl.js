// The page of the crawl.
import {
  html, useState, useMemo, ask, usePoll, use, count, known, rate, size, duration, moment, date, Link, Card, Dialog, triplesOf,
} from "/static/common.js";
import { Chart, growth } from "/static/charts.js";

const STATES = [
  ["done", "done"], ["kept", "kept"], ["failed", "failed"], ["denied", "denied"], ["in_flight", "in flight"], ["waiting", "waiting"],
];

const UNKNOWN = "Unknown: the pages have not been looked at yet, or are on another machine.";

function Tile({ name, number, more }) {
  return html`<div class="tile"><dt>${name}</dt><dd><div class="number">${number}</div>
    <div class="more">${more}</div></dd></div>`;
}

function Tiles({ crawl }) {
  const { counts, rates, runs } = crawl;
  const now = (text) => runs ? text : "";
  const perSecond = (number) => number === null ? "" : `${rate(number)}/s`;
  const perPage = crawl.pages && crawl.triples !== null ? `${(crawl.triples / crawl.pages).toFixed(1)} a page` : "";
  return html`<dl class="tiles">
    <${Tile} name="Pages" number=${known(crawl.pages)} more=${now(perSecond(rates.pages))} />
    <${Tile} name="Triples" number=${known(crawl.triples)} more=${[now(perSecond(rates.triples)), perPage].filter(Boolean).join(" · ")} />
    <${Tile} name="Waiting" number=${count(counts.waiting)} more=${now(`+${rate(rates.found)}/s found`)} />
    <${Tile} name="In flight" number=${count(counts.in_flight)} more=${now(rates.bytes === null ? "" : `${size(rates.bytes)}/s`)} />
    <${Tile} name="Failed" number=${count(counts.failed)} more=${crawl.errors === null ? "" : `${count(crawl.errors)} errors in the log`} />
    <${Tile} name="Time" number=${known(crawl.total_seconds, duration)} more=${crawl.memory === null ? "" : `${count(crawl.memory)} MB of memory`} />
  </dl>`;
}

function Sum({ counts }) {
  const parts = STATES.map(([name]) => counts[name]);
  const adds = parts.reduce((one, other) => one + other, 0) === counts.seen;
  const words = STATES.map(([name, label]) => `${count(counts[name])} ${label}`).join(", ");
  return html`<${Card} title="${count(counts.seen)} URLs" aside=${adds
      ? html`<span class="ok">✓ it adds up</span>` : html`<span class="bad">it does not add up</span>`}>
    <div class="sum" role="img" aria-label=${words}>${STATES.map(([name], place) => counts.seen > 0 && parts[place] > 0 &&
      html`<span class="of-${name}" style=${{ width: `${100 * parts[place] / counts.seen}%` }}></span>`)}</div>
    <ul class="key">${STATES.map(([name, label]) => html`<li><i class="of-${name}"></i>${count(counts[name])} ${label}</li>`)}</ul>
  </${Card}>`;
}

function projected(crawl) {
  const found = crawl.forecast;
  if (!crawl.runs) return "";
  if (crawl.state === "paused") return "paused";
  if (!crawl.counts.waiting && !found?.limit) return "nothing waits";
  if (!found) return "too early to tell when it ends";
  if (found.seconds === null) return `no end in sight: each URL brings ${found.found.toFixed(1)} new ones`;
  const when = `ends about ${date(crawl.time + found.seconds)}, in ${duration(found.seconds)}`;
  const pages = `${when}, with ${count(found.pages)} pages`;
  if (found.limit) return `${pages}, because of ${found.limit}`;
  return found.slowest ? `${pages}, because of the delay of ${found.slowest}` : `${pages}, if it goes on as in the last ${duration(found.over)}`;
}

function Curves({ crawl }) {
  const { data } = usePoll("curves", {}, 3);
  const drawn = useMemo(() => {
    if (!data || data.seconds.length < 3) return null;
    const totals = [data.seconds, data.found, data.ended];
    if (data.pages === null) return { rates: null, totals };
    const [times, pages] = growth(data.seconds, data.pages);
    const [, triples] = growth(data.seconds, data.triples);
    return { rates: [times, pages, triples], totals };
  }, [data]);
  if (!drawn) return null;
  const { rates } = crawl;
  return html`
    ${drawn.rates && html`<${Card} kind="half" title="Pages and triples a second" aside=${html`<div class="legend">
        <span><i class="c1"></i>pages</span><span><i class="c2"></i>triples</span></div>`}>
      <${Chart} label="Over time: pages a second, now ${rate(rates.pages)}, and triples a second, now ${rate(rates.triples)}."
        data=${drawn.rates} curves=${[{ stroke: "--first", scale: "pages", fill: true }, { stroke: "--second", scale: "triples" }]} />
    </${Card}>`}
    <${Card} kind=${drawn.rates ? "half" : ""} title="URLs found and fetched" aside=${html`<div class="legend">
        <span><i class="c2"></i>found</span><span><i class="c1"></i>ended</span></div>`}>
      <${Chart} label="Over time: URLs found, now ${count(crawl.counts.seen)}, and URLs that have ended."
        data=${drawn.totals} curves=${[{ stroke: "--second", scale: "urls" }, { stroke: "--first", scale: "urls", fill: true }]} />
      <p class="hint">${projected(crawl)}</p>
    </${Card}>`;
}

function Latest({ rows }) {
  return html`<${Card} kind="wide" title="Latest">
    ${rows && html`<div class="scroll" tabindex="0" role="region" aria-label="Latest URLs"><table>
      <thead><tr><th>time</th><th>URL</th><th>outcome</th><th class="n">triples</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.url}>
        <td class="small">${moment(row.time)}</td>
        <td class="url"><${Link} url=${row.url} />${row.title && html`<div class="small">${row.title}</div>`}</td>
        <td><span class="tag ${row.outcome}">${row.reason === "page" ? row.status || "page" : row.reason}</span></td>
        <td class="n">${row.triples > 0 ? html`<a href=${triplesOf(row.url)}>${count(row.triples)}</a>` : row.triples ? "–" : "0"}</td>
      </tr>`)}</tbody></table></div>`}
    ${!rows?.length && html`<p class="empty">${rows ? "Nothing has ended yet." : UNKNOWN}</p>`}
  </${Card}>`;
}

function Behind({ row, close, tell, steers }) {
  const [places, setPlaces] = useState([0]);
  const { data, error } = usePoll("urls", { state: row.state, reason: row.reason, after: places.at(-1) }, 10);
  const isEnd = row.state === "failed" || row.state === "denied";
  const part = places.length > 1 || data?.next ? `, part ${count(places.length)} of the whole crawl` : ", of the whole crawl";
  return html`<${Dialog} title="${row.state}: ${row.words}" close=${close}>
    ${error && html`<p class="bad">${error}</p>`}
    ${data && html`<p class="small">${data.rows.length ? `${count(data.rows.length)} URLs` : "None is kept"}${
      isEnd ? part : data.rows.length ? ", the latest of this run" : ""}</p>
    ${isEnd && html`<div class="tools">
      ${steers && row.state === "failed" && html`<button onClick=${() => use("requeue", { reason: row.reason }, tell)}>Try all of these again</button>`}
      ${(places.length > 1 || data.next) && html`<div class="push">
        <button disabled=${places.length < 2} onClick=${() => setPlaces(places.slice(0, -1))}>Previous</button>
        <button disabled=${!data.next} onClick=${() => setPlaces([...places, data.next])}>Next</button></div>`}</div>`}
    <div class="scroll" tabindex="0" role="region" aria-label="URLs"><table>
      <thead><tr><th>time</th><th class="n">status</th><th>URL</th>${isEnd && html`<th>found on</th>`}</tr></thead>
      <tbody>${data.rows.map((each) => html`<tr><td class="small">${date(each.time)}</td><td class="n">${each.status || "–"}</td>
        <td class="url"><${Link} url=${each.url} /></td>
        ${isEnd && html`<td class="url">${each.referrer ? html`<${Link} url=${each.referrer} />` : "seed"}</td>`}</tr>`)}</tbody>
    </table></div>`}
  </${Dialog}>`;
}

function Outcomes({ crawl, tell, steers }) {
  const [open, setOpen] = useState(null);
  const rows = crawl.outcomes ?? [];
  const most = Math.max(1, ...rows.map((row) => row.count));
  return html`<${Card} title="Outcomes" aside=${crawl.outcomes_of}>
    <table><thead class="hidden"><tr><th>outcome</th><th>count</th></tr></thead><tbody>
      ${rows.map((row) => html`<tr key="${row.state}/${row.reason}"><td>
        <button class="link" onClick=${() => setOpen(row)}>${row.words}</button>
        <div class="small">${row.state}</div>
        <div class="bar-of of-${row.state}" style=${{ width: `${100 * row.count / most}%` }}></div></td>
        <td class="n">${count(row.count)}</td></tr>`)}</tbody></table>
    ${!rows.length && html`<p class="empty">${crawl.outcomes ? "Nothing has ended yet." : UNKNOWN}</p>`}
    ${open && html`<${Behind} row=${open} close=${() => setOpen(null)} tell=${tell} steers=${steers} />`}
  </${Card}>`;
}

function Topics({ topics }) {
  const rows = Object.entries(topics).filter(([, pages]) => pages > 0).sort(([, one], [, other]) => other - one);
  return rows.length > 0 && html`<${Card} title="Topics" aside="pages, by their best topic">
    <table><thead class="hidden"><tr><th>topic</th><th>pages</th></tr></thead><tbody>
      ${rows.map(([name, pages]) => html`<tr key=${name}><td>${name}</td><td class="n">${count(pages)}</td></tr>`)}
    </tbody></table></${Card}>`;
}

function LeftOut({ sentences }) {
  return html`<${Card} title="Left out" aside="and by which setting">
    ${sentences.length ? html`<ul class="plain">${sentences.map((text) => {
      const [what, setting] = text.split(": ");
      return html`<li>${what}${setting && html` <code class="tag">${setting}</code>`}</li>`;
    })}</ul>` : html`<p class="empty">Nothing was left out.</p>`}
  </${Card}>`;
}

function Log({ isKept }) {
  const [level, setLevel] = useState("INFO");
  const { data } = usePoll("log", { level }, 2);
  return html`<${Card} title="Log" aside=${html`<label class="hidden" for="level">Level</label>
      <select id="level" onChange=${(event) => setLevel(event.target.value)}>
        ${["DEBUG", "INFO", "WARNING", "ERROR"].map((name) => html`<option selected=${name === level}>${name}</option>`)}</select>`}>
    <ul class="plain log" tabindex="0" aria-label="Lines of the log, the newest first">${(data ?? []).map((line) => html`<li>
      <time>${moment(line.time)}</time><span class="level ${line.level}">${line.level}</span>
      <span class="text mono">${line.text}</span></li>`)}</ul>
    ${data && !data.length && html`<p class="empty">${isKept ? "No line of this level."
      : html`Unknown: the log of this crawl goes elsewhere. If it is in a file, start the console with <code>-s LOG_FILE=FILE</code>.`}</p>`}
  </${Card}>`;
}

function Form({ id, label, hint, value = "", control, said, word, tell, many }) {
  const [text, setText] = useState(value), [busy, setBusy] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    if (await use(control, said(text), tell)) setText(value);
    setBusy(false);
  };
  const change = (event) => setText(event.target.value);
  return html`<form onSubmit=${send}><label for=${id}>${label}</label>
    <div class="row">${many ? html`<textarea id=${id} value=${text} onInput=${change} required></textarea>`
      : html`<input id=${id} value=${text} onInput=${change} required autocomplete="off" />`}
    <button disabled=${busy}>${word}</button></div><p class="hint">${hint}</p></form>`;
}

function Steer({ crawl, tell }) {
  const delay = crawl.told.delay ?? crawl.settings.delay;
  return html`<${Card} title="Steer">
    <div class="forms">
      <${Form} id="seeds" label="Add seeds" hint="A URL in each line. The scope grows by their hosts." many
        control="seeds" said=${(urls) => ({ urls })} word="Add" tell=${tell} />
      <${Form} id="exclude" label="Exclude URLs" control="exclude" said=${(rule) => ({ rule })} word="Exclude" tell=${tell}
        hint=${html`<code>regex:</code>, <code>keyword:</code>, <code>suffix:</code> or <code>extension:</code>, as in URLS_REJECT; for this crawl, for good.${
          crawl.excluded.length > 0 && html`<br />Excluded: ${crawl.excluded.map((rule) => html`<code class="tag">${rule}</code> `)}`}`} />
      <${Form} id="requeue" label="Try failed URLs again" control="requeue" said=${(pattern) => ({ pattern })} word="Requeue"
        tell=${tell} hint="Those that match a regular expression; . matches all." />
      <${Form} id="delay" label="Delay, in seconds" control="delay" said=${(seconds) => ({ seconds })} word="Set" tell=${tell}
        hint="Between two fetches of a host: now ${delay}. A longer one in robots.txt holds all the same." />
    </div></${Card}>`;
}

export function Crawl({ crawl, tell }) {
  const { settings } = crawl;
  return html`<div class="headline"><h1 title=${crawl.directory}>${crawl.name}</h1>
      <span class="facts">order ${settings.order}${settings.scope && ` · scope ${settings.scope}`} · depth ${settings.depth}</span></div>
    <${Tiles} crawl=${crawl} />
    <div class="grid" style=${{ marginTop: "1rem" }}>
      <${Sum} counts=${crawl.counts} />
      <${Curves} crawl=${crawl} />
      <${Latest} rows=${crawl.latest} />
      <div class="narrow stack"><${Outcomes} crawl=${crawl} tell=${tell} steers=${crawl.controls} /><${Topics} topics=${crawl.topics} /><${LeftOut} sentences=${crawl.left_out} /></div>
      <${Log} isKept=${crawl.has_log} />
      ${crawl.controls && html`<${Steer} crawl=${crawl} tell=${tell} />`}
    </div>`;
}
