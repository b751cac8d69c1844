// The sidebar's list of sessions.

import { byId, el, keyed, setAttribute, setText } from "./dom.js";
import { clock, condition, viewers } from "./words.js";

const list = byId("list");

export function renderList({ sessions, screen, now }) {
  keyed(list, sessions, (s) => `${s.id}/${s.screen}`, create, (item, s) => update(item.firstElementChild, s, screen, now));
  setAttribute(byId("all"), "aria-current", screen === 0 && "page");
}

function create(session) {
  const parts = [
    el("span", { class: "number" }),
    el("span", { class: "entry-title" }),
    el("span", { class: "entry-facts" }),
    el("span", { class: "entry-mark" }),
  ];
  const entry = session.screen
    ? el("a", { class: "entry", href: `#screen=${session.screen}` }, ...parts)
    : el("div", { class: "entry" }, ...parts);
  return el("li", {}, entry);
}

function update(entry, session, screen, now) {
  const [number, title, facts, mark] = entry.children;
  setText(number, session.screen ? String(session.screen) : "–");
  setText(title, session.title);
  const started = clock(new Date(session.started_at), now);
  setText(facts, `Since ${started} · ${session.screen ? viewers(session.viewers) : "no screen yet"}`);
  setText(mark, session.request ? `Needs you: ${session.request.reason}` : condition(session));
  setAttribute(entry, "title", session.title);
  setAttribute(entry, "data-needs", session.request ? "" : null);
  setAttribute(entry, "aria-current", session.screen !== 0 && session.screen === screen && "page");
}
