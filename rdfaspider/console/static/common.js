// What all pages share: asking the crawl, words and numbers for people, small parts.
export {
  html, render, useState, useEffect, useRef, useMemo, useCallback,
} from "/static/vendor/htm-preact.js";
import { html, useEffect, useRef, useState } from "/static/vendor/htm-preact.js";

const chosen = new URLSearchParams(location.search).get("crawl");

// Return the address of a page or an answer about the crawl that is looked at.
export function address(path, query = {}) {
  const all = new URLSearchParams(query);
  if (chosen) all.set("crawl", chosen);
  const text = all.toString();
  return text ? `${path}?${text}` : path;
}

export class Refused extends Error {}

export async function ask(path, query = {}, said = undefined) {
  const options = said === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(said),
  };
  const response = await fetch(address(`/api/${path}`, query), options);
  if (response.status === 401) throw new Refused("This browser does not have the token: open the address that the crawl has printed.");
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error ?? response.statusText);
  return answer;
}

// Ask again and again while the page is seen. Return the latest answer, and what went wrong.
export function usePoll(path, query = {}, seconds = 1) {
  const [found, set] = useState({ data: null, error: null });
  const key = JSON.stringify([path, query]);
  useEffect(() => {
    let timer = 0, ended = false;
    async function look() {
      if (!document.hidden) {
        try {
          const data = await ask(path, query);
          if (!ended) set({ data, error: null });
        } catch (error) {
          const words = error instanceof Refused ? error.message
            : "The console does not answer: the crawl has ended, or was stopped.";
          if (!ended) set((before) => ({ data: before.data, error: words }));
        }
      }
      if (!ended) timer = setTimeout(look, seconds * 1000);
    }
    look();
    return () => { ended = true; clearTimeout(timer); };
  }, [key, seconds]);
  return found;
}

const whole = new Intl.NumberFormat("en");
export const count = (number) => whole.format(Math.round(number ?? 0));

// What nobody can know here is null.
export const known = (value, show = count) => value === null ? "unknown" : show(value);

export function rate(number) {
  if (!number) return "0";
  return number >= 100 ? count(number) : number.toFixed(number >= 10 ? 1 : 2);
}

export function short(number) {
  const units = ["", "k", "M", "G", "T"];
  let place = 0;
  while (Math.abs(number) >= 1000 && place < units.length - 1) { number /= 1000; place += 1; }
  const digits = place && Math.abs(number) < 100 ? 1 : 0;
  return `${number.toFixed(Number.isInteger(number) ? 0 : Math.max(digits, Math.abs(number) < 10 ? 1 : 0))}${units[place]}`;
}

export function size(bytes) {
  const [, number, unit] = short(bytes).match(/^([\d.-]+)(.*)$/);
  return `${number} ${unit}B`;
}

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 && s < 600 ? ` ${s % 60} s` : ""}`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.round(s / 86400)} days`;
}

export const moment = (time) => time ? new Date(time * 1000).toLocaleTimeString([], { hour12: false }) : "";

export function date(time) {
  if (!time) return "";
  const then = new Date(time * 1000), isToday = then.toDateString() === new Date().toDateString();
  const clock = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  return isToday ? clock : `${then.toLocaleDateString()} ${clock}`;
}

// A link to a page of the web, which is told nothing of the console. Anything but http is only text.
export function Link({ url }) {
  if (!/^https?:\/\//.test(url)) return html`<span>${url}</span>`;
  return html`<a href=${url} title=${url} target="_blank" rel="noreferrer noopener">${url}</a>`;
}

export function Card({ title, aside, kind = "", children }) {
  return html`<section class="card ${kind}"><header><h2>${title}</h2>${
    aside && html`<div class="push">${aside}</div>`}</header>${children}</section>`;
}

// A dialog that is open while it is shown.
export function Dialog({ title, close, children }) {
  const element = useRef(null);
  useEffect(() => { if (!element.current.open) element.current.showModal(); }, []);
  return html`<dialog ref=${element} aria-label=${title} onClose=${close}>
    <div class="tools"><h2>${title}</h2><div class="push">
      <button onClick=${() => element.current.close()}>Close</button></div></div>
    ${children}</dialog>`;
}

// Use a control, and say what came of it.
export async function use(control, said, tell) {
  try {
    tell((await ask(`control/${control}`, {}, said ?? {})).said);
    return true;
  } catch (error) {
    tell(error.message);
    return false;
  }
}

export const triplesOf = (url) =>
  address("/query", { query: `SELECT ?subject ?predicate ?object {\n  GRAPH <${url}> { ?subject ?predicate ?object }\n}` });
