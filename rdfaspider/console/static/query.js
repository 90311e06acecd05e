// The page of queries: YASGUI over the crawl's own endpoint, with queries to begin with.
import { html, useEffect, useRef, usePoll, address, duration } from "/static/common.js";

const READY = [
  ["Types", "How many things of which type",
    "SELECT ?type (COUNT(DISTINCT ?thing) AS ?things) {\n  ?thing a ?type\n}\nGROUP BY ?type\nORDER BY DESC(?things)\nLIMIT 100"],
  ["Properties", "How often each property is used",
    "SELECT ?property (COUNT(*) AS ?times) {\n  ?thing ?property ?value\n}\nGROUP BY ?property\nORDER BY DESC(?times)\nLIMIT 100"],
  ["Pages", "The pages that say most",
    "SELECT ?page (COUNT(*) AS ?triples) {\n  GRAPH ?page { ?thing ?property ?value }\n}\nGROUP BY ?page\nORDER BY DESC(?triples)\nLIMIT 100"],
  ["Names", "Things with their names and types, and who says so",
    "PREFIX schema: <http://schema.org/>\nPREFIX foaf: <http://xmlns.com/foaf/0.1/>\nPREFIX dc: <http://purl.org/dc/terms/>\nSELECT ?name ?type ?page {\n  GRAPH ?page {\n    ?thing schema:name|foaf:name|dc:title ?name\n    OPTIONAL { ?thing a ?type }\n  }\n}\nLIMIT 100"],
  ["Vocabularies", "Which vocabularies are used, by how many pages",
    "SELECT ?vocabulary (COUNT(DISTINCT ?page) AS ?pages) {\n  GRAPH ?page { ?thing ?property ?value }\n  BIND(REPLACE(STR(?property), \"[^/#]*$\", \"\") AS ?vocabulary)\n}\nGROUP BY ?vocabulary\nORDER BY DESC(?pages)\nLIMIT 100"],
];

function Lag() {
  const { data } = usePoll("store", {}, 3);
  if (!data) return null;
  if (data.is_embedded && !data.is_copy)
    return html`<p class="hint">Queries read ${data.store}, which no crawl writes now. They end after ${duration(data.seconds)}.</p>`;
  if (!data.is_copy) return html`<p class="hint">Queries are passed on to ${data.store}. They end after ${duration(data.seconds)}.</p>`;
  const age = data.age === null ? "A copy of the store is made for the first query."
    : `The latest answers show the store as it was ${duration(data.age)} ago.`;
  return html`<p class="hint">${age} A query ends after ${duration(data.seconds)}. Programs ask <code>${location.origin}/sparql</code>.</p>`;
}

// YASGUI's inputs have no labels of their own.
function label(root) {
  const names = [
    ["textarea", "Query"], ["input.autocomplete, .autocompleteWrapper input", "Endpoint"], [".tableFilter", "Filter the results"],
    ["select.tableSizer", "Rows of a page"], [".yasr_header select", "Kind of the results"], ["input", "Option"],
  ];
  for (const [selector, name] of names) {
    for (const each of root.querySelectorAll(selector)) {
      if (!each.hasAttribute("aria-label") && !each.labels?.length) each.setAttribute("aria-label", name);
    }
  }
  // Its list of tabs has a button among them, which no tablist may have.
  root.querySelectorAll("[role=tablist]").forEach((list) => list.setAttribute("role", "group"));
  for (const tab of root.querySelectorAll("[role=tab], [aria-selected]")) {
    tab.setAttribute("role", "button");
    tab.setAttribute("aria-pressed", tab.getAttribute("aria-selected") ?? "false");
    tab.removeAttribute("aria-selected");
  }
  for (const each of root.querySelectorAll("button, a[role=tab], a")) {
    if (!each.textContent.trim() && !each.hasAttribute("aria-label")) each.setAttribute("aria-label", each.title || "Tool");
  }
}

export function Query() {
  const element = useRef(null), yasgui = useRef(null);
  useEffect(() => {
    const defaults = window.Yasgui.Yasqe.defaults;
    // The others ask servers on the web.
    defaults.autocompleters = ["variables"];
    const editor = new window.Yasgui(element.current, {
      requestConfig: { endpoint: address(`${location.origin}/sparql`), method: "POST" },
      endpointCatalogueOptions: { getData: () => [] },
      copyEndpointOnNewTab: false,
      persistenceId: `console-${location.port}`,
      autofocus: true,
      yasqe: { value: READY[0][2], showQueryButton: true },
    });
    yasgui.current = editor;
    editor.getTab()?.setEndpoint(address(`${location.origin}/sparql`));
    const given = new URLSearchParams(location.search).get("query");
    if (given) {
      editor.getTab().setQuery(given);
      editor.getTab().query().catch(() => {});
    }
    label(element.current);
    const observer = new MutationObserver(() => label(element.current));
    observer.observe(element.current, { childList: true, subtree: true, attributeFilter: ["aria-selected"] });
    return () => observer.disconnect();
  }, []);
  const run = (query) => {
    const tab = yasgui.current.getTab();
    tab.setQuery(query);
    tab.query().catch(() => {});
  };
  return html`<div class="headline"><h1>Query</h1><div class="chips">${READY.map(([name, title, query]) =>
      html`<button title=${title} onClick=${() => run(query)}>${name}</button>`)}</div></div>
    <section class="card"><div class="editor" ref=${element}></div><${Lag} /></section>`;
}
