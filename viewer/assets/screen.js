// One screen: noVNC's connection to it, locked until the computer says that this page
// has control.

import { byId, setAttribute } from "./dom.js";
import { copyOut } from "./clipboard.js";
import { notice, retract } from "./notices.js";

const view = byId("screen");
const stage = byId("stage");
const waiting = byId("waiting");

const firstWait = 300; // ms before connecting again
const longestWait = 3000;
const refused = 4003; // by the computer, with a sentence

// noVNC decodes a test picture before it can be used, to learn whether the browser can
// do H.264. Nobody here sends any, so it need not look.
delete globalThis.VideoDecoder;
// It takes a moment and is not needed for the grid.
const loading = import("./novnc/rfb.js");

export class Screen {
  number = 0; // 0 while no screen is shown
  mine = false; // this page has control
  #live;
  #changed; // called when mine has changed
  #rfb = null;
  #fit = true;
  #wait = firstWait;
  #timer = 0;
  #attempt = 0; // tells a late event of an earlier connection
  #why = ""; // what the person was told when control was lost
  #session; // as the list last said
  #lease = ""; // since when somebody had control while this page was the last to have it
  #others = false; // somebody else has control, as far as the list says
  #inputAt = 0; // when the person last did something to the screen

  constructor(live, changed) {
    this.#live = live;
    this.#changed = changed;
    stage.addEventListener("pointerdown", () => {
      if (this.#rfb && !byId("lock").disabled && !this.mine) notice("This screen is locked: you can watch. Unlock it to use it.");
    });
    for (const type of ["pointermove", "pointerdown", "wheel", "keydown"]) {
      stage.addEventListener(type, () => (this.#inputAt = Date.now()), { capture: true, passive: true });
    }
    // noVNC lets go of keys when the window loses the focus, but not when the bar gets it.
    stage.addEventListener("focusout", () => window.dispatchEvent(new Event("blur")));
  }

  // rfb is the connection through which this page may act, or null.
  get rfb() {
    return this.mine ? this.#rfb : null;
  }

  get canvas() {
    return stage.querySelector("canvas");
  }

  // enter shows a screen; 0 leaves the one that is shown.
  enter(number) {
    if (number === this.number) return;
    this.#drop();
    this.number = number;
    this.#wait = firstWait;
    notice("");
    if (number) this.reconnect();
  }

  // reconnect connects anew if nothing else is under way.
  reconnect() {
    if (!this.number || this.#rfb || !this.#live.page) return;
    clearTimeout(this.#timer);
    this.#connect(++this.#attempt);
  }

  async #connect(attempt) {
    this.#say("Connecting…");
    const { default: RFB } = await loading;
    if (attempt !== this.#attempt || !this.#live.page) return;
    const socket = new WebSocket(`ws://${location.host}/screens/${this.number}`, ["binary", `page.${this.#live.page}`]);
    let close = null;
    socket.addEventListener("close", (event) => (close = event));
    const rfb = new RFB(stage, socket);
    this.#rfb = rfb;
    rfb.viewOnly = true;
    rfb.scaleViewport = this.#fit;
    rfb.background = "transparent";
    rfb.qualityLevel = 8;
    rfb.addEventListener("connect", () => {
      if (attempt !== this.#attempt) return;
      this.#wait = firstWait;
      this.#say("");
      this.canvas.tabIndex = 0;
      this.#describe();
    });
    rfb.addEventListener("clipboard", (event) => copyOut(event.detail.text));
    rfb.addEventListener("disconnect", () => {
      if (attempt === this.#attempt) this.#lost(close);
    });
  }

  // take asks for control; the answer comes as a "control" message.
  take() {
    this.#live.send("take", { screen: this.number });
  }

  handBack() {
    this.#live.send("hand_back", { screen: this.number });
  }

  // setMine obeys the computer's word on whether this page has control.
  setMine(mine, why = "") {
    if (why || mine) notice(why); // control makes words about a locked screen wrong
    if (why || mine) this.#why = why;
    if (mine === this.mine) return;
    this.mine = mine;
    if (mine) this.#lease = "";
    this.heed(this.#session); // the list may have been first to know
    this.#inputAt = Date.now();
    setAttribute(view, "data-mine", mine ? "" : null);
    const focused = stage.contains(document.activeElement);
    if (this.#rfb) this.#rfb.viewOnly = !mine;
    this.#describe();
    this.#changed();
    if (mine) this.canvas?.focus();
    // Not on Unlock: the next key of a person who types would take control back at once.
    else if (focused) byId("screen-title").focus();
  }

  // heed looks at what the list says of this screen: what was said of somebody else who
  // took control is over with their control.
  heed(session) {
    this.#session = session;
    const person = session?.state !== "ended" && session?.control.by === "human";
    const lease = person ? session.control.since : "";
    if (this.mine) this.#lease ||= lease;
    const others = person && !this.mine && lease !== this.#lease;
    if (this.#others && !others) retract(this.#why);
    this.#others = others;
  }

  // warn tells a person who does nothing that control is about to expire.
  warn(expiry) {
    const left = Math.ceil((this.#inputAt + expiry - Date.now()) / 1000);
    if (this.mine && left > 0 && left <= 20) notice(`Nothing came from you for a while: the screen locks in ${left} s.`);
  }

  set fit(fit) {
    this.#fit = fit;
    if (this.#rfb) this.#rfb.scaleViewport = fit;
  }

  get fit() {
    return this.#fit;
  }

  #describe() {
    const canvas = this.canvas;
    if (!canvas) return;
    canvas.setAttribute("role", this.mine ? "application" : "img");
    canvas.setAttribute("aria-label", this.mine
      ? `Screen ${this.number}. All keys go to it; Ctrl+Alt+Home brings you back to the bar.`
      : `Screen ${this.number}, locked.`);
  }

  #drop() {
    this.#attempt++;
    clearTimeout(this.#timer);
    this.#rfb?.disconnect();
    this.#rfb = null;
    this.setMine(false);
  }

  #lost(close) {
    this.#rfb = null;
    this.setMine(false);
    this.#attempt++;
    this.#say(close?.code === refused ? close.reason : "The connection was lost. Connecting again…");
    this.#timer = setTimeout(() => this.reconnect(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, longestWait);
  }

  #say(sentence) {
    waiting.textContent = sentence;
    waiting.hidden = sentence === "";
  }
}
