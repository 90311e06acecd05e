// One thing: what is said of it, by which page, when; or one page: all that it says.
import { html, useState, useEffect, ask, address, count, Link, Card, triplesOf } from "/static/common.js";
import { thingAddress, pageAddress, searchAddress } from "/static/search.js";

const isType = (predicate) => predicate?.endsWith("/22-rdf-syntax-ns#type");
const NAME = /[/#:](name|title|label|prefLabel|headline)$/;

// The last word of an IRI.
const last = (iri) => iri.replace(/[/#]$/, "").split(/[/#:]/).at(-1) || iri;
const when = (text) => new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false });

function Value({ value, predicate }) {
  if (value.kind === "literal") {
    return html`<span class="literal">${value.value}</span>${value.language && html` <span class="small">${value.language}</span>`}${
      value.datatype && html` <span class="small" title=${value.datatype}>${last(value.datatype)}</span>`}`;
  }
  if (value.kind === "blank") return value.said.length ? html`<${Statements} said=${value.said} />` : html`<span class="small">something without a name</span>`;
  if (isType(predicate)) return html`<a class="tag" href=${searchAddress("", value.value)} title=${value.value}>${last(value.value)}</a>`;
  return html`<a href=${thingAddress(value.value)} title=${value.value}>${value.value}</a>`;
}

function Statements({ said }) {
  return html`<dl class="said">${said.map(({ predicate, values }) => html`<div key=${predicate}><dt title=${predicate}>${last(predicate)}</dt>
    <dd>${values.map((value) => html`<div class="wrap"><${Value} value=${value} predicate=${predicate} /></div>`)}</dd></div>`)}</dl>`;
}

function Origin({ about }) {
  const { fetches, record, page } = about;
  const [latest] = fetches;
  return html`<p class="small">${latest ? html`Fetched ${when(latest.time)}${latest.status && `, status ${latest.status}`}${
      fetches.length > 1 && `; ${count(fetches.length)} visits since ${when(fetches.at(-1).time)}`}.` : "When it was fetched is not recorded."}
    ${record && html` Archived in <code>${record.file}</code>${record.offset && ` at ${count(Number(record.offset))}`}:
      <a href=${address("/api/record", { url: page, ...(record.time && { date: record.time }) })}>the answer as it was</a>.`}</p>`;
}

function nameOf(groups) {
  for (const said of groups) {
    const found = said.find(({ predicate, values }) => NAME.test(predicate) && values[0].kind === "literal");
    if (found) return found.values[0].value;
  }
  return "";
}

function ThingPage({ data }) {
  return html`<div class="headline"><h1>${nameOf(data.pages.map((page) => page.said)) || last(data.iri)}</h1>
      <span class="facts wrap"><${Link} url=${data.iri} /></span></div>
    <div class="grid">${data.pages.map((page) => html`<${Card} title="Said of it" aside=${html`by <a class="wrap" href=${pageAddress(page.page)}>${page.page}</a>`}>
        <${Statements} said=${page.said} /><${Origin} about=${page} /></${Card}>`)}
      ${!data.pages.length && html`<${Card} title="Said of it"><p class="empty">Nothing: no page describes it.</p></${Card}>`}
      ${data.has_more_pages && html`<p class="hint">More pages describe it: <a href=${address("/query", { query: `SELECT ?page ?property ?value {\n  GRAPH ?page { <${data.iri}> ?property ?value }\n}` })}>all of them</a>.</p>`}
      <${Card} title="Mentioned by" aside=${data.has_more_mentions && "the first of them"}>
        ${data.mentions.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Mentions"><table>
          <thead><tr><th>thing</th><th>property</th><th>page</th></tr></thead>
          <tbody>${data.mentions.map((each) => html`<tr><td class="url"><${Value} value=${each.subject} /></td>
            <td title=${each.predicate}>${last(each.predicate)}</td>
            <td class="url"><a href=${pageAddress(each.page)}>${each.page}</a></td></tr>`)}</tbody></table></div>`
        : html`<p class="empty">Nothing.</p>`}</${Card}></div>`;
}

function PageOfWeb({ data }) {
  return html`<div class="headline"><h1 class="wrap">${data.page}</h1><span class="facts"><${Link} url=${data.page} /></span></div>
    <div class="grid"><${Card} title="${count(data.statements)} statements" aside=${html`<a href=${triplesOf(data.page)}>as a table</a>`}>
        <${Origin} about=${data} />
        ${data.is_cut && html`<p class="hint">Only the first are shown.</p>`}
        ${!data.statements && html`<p class="empty">The store has nothing of this page.</p>`}</${Card}>
      ${data.things.filter((each) => each.said.length).map(({ thing, said }) => html`<${Card} title=${nameOf([said]) || (thing.value ? last(thing.value) : "Something without a name")}
        aside=${thing.value && html`<a class="wrap" href=${thingAddress(thing.value)}>${thing.value}</a>`}><${Statements} said=${said} /></${Card}>`)}</div>`;
}

export function Thing() {
  const given = new URLSearchParams(location.search);
  const iri = given.get("iri") ?? "", page = given.get("page") ?? "";
  const [found, set] = useState({ data: null, error: null });
  useEffect(() => {
    ask("thing", page ? { page } : { iri }).then((data) => set({ data, error: null }), (error) => set({ data: null, error: error.message }));
  }, []);
  const { data, error } = found;
  if (error) return html`<h1 class="hidden">A thing</h1><div class="banner" role="alert">${error}</div>`;
  if (!data) return html`<h1 class="wrap">${page || iri}</h1><p class="empty" role="status">Asking the store …</p>`;
  return page ? html`<${PageOfWeb} data=${data} />` : html`<${ThingPage} data=${data} />`;
}
