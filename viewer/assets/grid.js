// The grid of all screens, with small live pictures.

import { byId, el, keyed, setAttribute, setText } from "./dom.js";
import { condition, control, lastAction, viewers } from "./words.js";

const grid = byId("grid");

export class Grid {
  #wish; // called with what thumbnails are needed
  #wished = "";
  #inView = new Set(); // cards
  #observer = new IntersectionObserver((entries) => {
    for (const e of entries) e.isIntersecting ? this.#inView.add(e.target) : this.#inView.delete(e.target);
    this.ask();
  });

  constructor(wish) {
    this.#wish = wish;
    document.addEventListener("visibilitychange", () => this.ask());
    addEventListener("resize", () => this.ask());
  }

  render({ sessions, now, mine, connected }) {
    byId("empty").hidden = sessions.length > 0 || !connected;
    keyed(grid, sessions, (s) => `${s.id}/${s.screen}`, (s) => this.#create(s), (item, s) => update(item.firstElementChild, s, now, mine(s.screen)));
    for (const card of this.#inView) if (!card.isConnected) this.#inView.delete(card);
    this.ask();
  }

  // show puts a picture of a screen on its card.
  show(screen, picture) {
    const image = grid.querySelector(`[data-screen="${screen}"] img`);
    if (!image) return;
    URL.revokeObjectURL(image.src);
    image.src = URL.createObjectURL(picture);
    image.hidden = false;
    image.nextElementSibling.hidden = true;
  }

  // ask asks for the pictures of the cards that can be seen, and of no others.
  ask() {
    const seen = (card) => card.dataset.screen && card.clientWidth > 0;
    const cards = document.hidden ? [] : [...this.#inView].filter(seen);
    const screens = cards.map((card) => Number(card.dataset.screen)).sort((a, b) => a - b);
    // In steps, so that dragging the window's edge does not ask for every width.
    const width = cards.length ? Math.ceil((cards[0].clientWidth * devicePixelRatio) / 80) * 80 : 0;
    const wished = JSON.stringify({ screens, width });
    if (wished === this.#wished) return;
    this.#wished = wished;
    this.#wish({ screens, width });
  }

  // askAgain is for a new connection, which knows nothing.
  askAgain() {
    this.#wished = "";
    this.ask();
  }

  #create(session) {
    const shot = session.screen
      ? el("div", { class: "shot" }, el("img", { alt: "", hidden: true }), el("span", { class: "shot-text", text: "…" }))
      : el("div", { class: "shot" }, el("span", { class: "shot-text", text: "No screen yet" }));
    const body = el("div", { class: "card-body" },
      el("p", { class: "card-title" }, el("span", { class: "number" }), el("span")),
      el("p", { class: "card-mark" }),
      el("p", { class: "card-facts card-control" }),
      el("p", { class: "card-facts" }));
    const card = session.screen
      ? el("a", { class: "card", href: `#screen=${session.screen}`, "data-screen": session.screen }, shot, body)
      : el("div", { class: "card" }, shot, body);
    this.#observer.observe(card);
    return el("li", {}, card);
  }
}

function update(card, session, now, mine) {
  const [title, mark, who, did] = card.querySelector(".card-body").children;
  const [number, name] = title.children;
  setText(number, session.screen ? String(session.screen) : "–");
  setText(name, session.title);
  setText(mark, session.request ? `Needs you: ${session.request.reason}` : condition(session));
  setAttribute(card, "data-needs", session.request ? "" : null);
  setText(who, session.screen ? `${control(session, mine)} · ${viewers(session.viewers)}` : "");
  setAttribute(who, "data-by", mine ? "human" : session.control.by);
  setText(did, lastAction(session, now));
}
