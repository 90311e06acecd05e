// The page of search: words and a type, and what there is to browse.
import { html, useState, useEffect, useRef, ask, address, usePoll, count, date, Link, Card } from "/static/common.js";

const BEGIN = "\u0002", END = "\u0003";

// The words of a text, those that were found marked.
function Marked({ text }) {
  return text.split(BEGIN).map((part, place) => {
    if (!place) return part;
    const [found, rest = ""] = part.split(END);
    return html`<mark>${found}</mark>${rest}`;
  });
}

export const thingAddress = (iri) => address("/thing", { iri });
export const pageAddress = (page) => address("/thing", { page });
export const searchAddress = (words, type = "") => address("/search", { words, ...(type && { type }) });

export const Type = ({ type }) => html`<a class="tag" href=${searchAddress("", type.iri)} title=${type.iri}>${type.short}</a>`;

function Result({ result }) {
  const isPage = !result.subject || result.subject === result.page;
  const name = result.name || result.subject || "without a name";
  return html`<li class="result"><h3><a href=${isPage ? pageAddress(result.page) : thingAddress(result.subject)}>${name}</a>
      ${result.types.map((type) => html` <${Type} type=${type} />`)}</h3>
    ${result.words && html`<p><${Marked} text=${result.words} /></p>`}
    <p class="small where"><${Link} url=${result.page} />${result.pages > 1 && html` and ${count(result.pages - 1)} more`}${
      result.time > 0 && html` · ${date(result.time)}`}${result.rank && html` · PageRank ${result.rank.toFixed(1)}`}</p></li>`;
}

function said(answer) {
  if (!answer.results.length) return "Nothing was found.";
  const found = answer.is_cut ? `more than ${count(answer.matches)} matches` : `${count(answer.matches)} ${answer.matches === 1 ? "match" : "matches"}`;
  return answer.any_of ? `No thing has all the words. ${found} with some of them` : found;
}

function Results({ words, type, offset }) {
  const [found, set] = useState({ answer: null, error: null });
  useEffect(() => {
    ask("search", { words, type, offset }).then((answer) => set({ answer, error: null }), (error) => set({ answer: null, error: error.message }));
  }, []);
  const { answer, error } = found;
  if (error) return html`<p class="bad" role="alert">${error}</p>`;
  if (!answer) return html`<p class="empty">Searching …</p>`;
  const last = offset + answer.results.length;
  const at = (place) => address("/search", { words, type, offset: place });
  return html`<p class="small" role="status">${said(answer)}${answer.results.length > 0 && ` · ${count(offset + 1)}–${count(last)} of the best ${count(answer.found)}`}</p>
    <ol class="results" start=${offset + 1}>${answer.results.map((result) => html`<${Result} result=${result} />`)}</ol>
    <nav class="tools" aria-label="More results">
      ${offset > 0 && html`<a class="button" href=${at(Math.max(0, offset - answer.size))}>Previous</a>`}
      ${last < answer.found && html`<a class="button" href=${at(last)}>Next</a>`}</nav>`;
}

function Terms({ title, aside, rows, link, none }) {
  const most = Math.max(1, ...rows.map((row) => row.uses));
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, 12);
  return html`<${Card} kind="third" title=${title} aside=${aside}>
    <table><thead class="hidden"><tr><th>name</th><th>count</th></tr></thead><tbody>${shown.map((row) => html`<tr key=${row.iri}>
      <td class="wrap">${link(row)}<div class="bar-of c1" style=${{ width: `${100 * row.uses / most}%` }}></div></td>
      <td class="n">${count(row.uses)}</td></tr>`)}</tbody></table>
    ${!rows.length && html`<p class="empty">${none}</p>`}
    ${rows.length > 12 && html`<p><button class="link" onClick=${() => setAll(!all)}>${all ? "Show fewer" : `Show all ${count(rows.length)}`}</button></p>`}
  </${Card}>`;
}

function Vocabulary({ row }) {
  const [hosts, setHosts] = useState(null);
  const toggle = async () => setHosts(hosts ? null : await ask("vocabulary", { iri: row.iri }).catch(() => []));
  return html`<button class="link wrap" aria-expanded=${Boolean(hosts)} onClick=${toggle}>${row.iri}</button>
    ${hosts && html`<ul class="plain small" aria-label="Hosts that use it">${hosts.slice(0, 20).map((host) => html`<li>
      <a href=${address("/search", { host: host.iri })}>${host.iri}</a> ${count(host.uses)}</li>`)}
      ${hosts.length > 20 && html`<li>and more</li>`}</ul>`}`;
}

const ofProperty = (iri) => address("/query", { query: `SELECT ?thing ?value ?page {\n  GRAPH ?page { ?thing <${iri}> ?value }\n}\nLIMIT 100` });

function Browse({ data, host }) {
  return html`<div class="grid" style=${{ marginTop: "1rem" }}>
    <${Terms} title="Types" aside="things" rows=${data.types} none="No thing has a type."
      link=${(row) => html`<a href=${searchAddress("", row.iri)} title=${row.iri}>${row.short}</a>`} />
    <${Terms} title="Properties" aside="statements" rows=${data.predicates} none="There are no statements."
      link=${(row) => html`<a href=${ofProperty(row.iri)} title=${row.iri}>${row.short}</a>`} />
    <${Terms} title=${host ? `Vocabularies of ${host}` : "Vocabularies"} rows=${data.vocabularies} none="None."
      aside=${host ? html`<a href=${address("/search")}>of all hosts</a>` : "statements"} link=${(row) => html`<${Vocabulary} row=${row} />`} /></div>
    <p class="hint"><code>scrapy export --void</code> writes this as VoID, host by host.</p>`;
}

export function Search() {
  const given = new URLSearchParams(location.search);
  const words = given.get("words") ?? "", type = given.get("type") ?? "", host = given.get("host") ?? "";
  const offset = Number.parseInt(given.get("offset") ?? "0", 10) || 0;
  const { data, error } = usePoll("browse", { host }, 15);
  const box = useRef(null);
  const isAsked = Boolean(words || type);
  useEffect(() => { if (data?.has_index && !isAsked) box.current?.focus(); }, [data?.has_index]);
  const send = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    location.href = searchAddress(form.get("words"), form.get("type"));
  };
  return html`<h1 class="hidden">Search</h1>
    ${error && html`<div class="banner" role="alert">${error}</div>`}
    ${data && !data.has_index && html`<${Card} title="There is no search index">
      <p>A crawl keeps one if it is started with <code>-s SEARCH=1</code>. For a crawl that has ended, <code>scrapy search --rebuild</code> makes one.</p></${Card}>`}
    ${data?.has_index && html`<section class="card"><form class="searching" role="search" onSubmit=${send}>
        <div class="grow"><label for="words">Words</label><input id="words" name="words" type="search" ref=${box} defaultValue=${words} autocomplete="off" placeholder="lemon cake" /></div>
        <div><label for="type">Type</label><input id="type" name="type" list="types" defaultValue=${type} autocomplete="off" placeholder="any" />
          <datalist id="types">${data.types.map((each) => html`<option value=${each.short}></option>`)}</datalist></div>
        <button class="primary">Search</button></form>
      <p class="hint">${count(data.pages)} pages, ${count(data.things)} things. A phrase is in quotes, a word after - must not occur, lem* is the beginning of a word. Several types may be given; things of a type after - are left out.</p>
      ${isAsked && html`<${Results} words=${words} type=${type} offset=${offset} />`}</section>
      ${!isAsked && html`<${Browse} data=${data} host=${host} />`}`}`;
}
