// Text between the person's clipboard and the screen's, while the page is unlocked.

import { notice } from "./notices.js";

const keysym = { v: 0x76, V: 0x56, Insert: 0xff63, Control_L: 0xffe3 };

// isPaste tells the key presses at which a browser pastes.
function isPaste(event) {
  if (event.altKey) return false;
  return ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v") || (event.shiftKey && event.key === "Insert");
}

// PasteKeys takes such presses away from noVNC. The browser then hands over the text in
// a paste event, for which it needs no permission. The screen gets the text first and
// the press after it, so that its program pastes the new text and not what it had.
export class PasteKeys {
  #send; // sends text, resolves when programs on the screen can paste it
  #pending = null; // the press whose paste event has not come
  #control = false; // whether the person holds Ctrl

  // stage is what holds noVNC's canvas, rfb returns the connection or null.
  constructor(stage, rfb, send) {
    this.#send = send;
    const note = (event) => (this.#control = event.ctrlKey);
    stage.addEventListener("keydown", (event) => {
      note(event);
      if (!rfb() || !isPaste(event)) return;
      event.stopImmediatePropagation();
      if (!event.repeat) this.#pending = event;
    }, true);
    stage.addEventListener("keyup", note, true);
    document.addEventListener("paste", (event) => {
      const press = this.#pending;
      this.#pending = null;
      if (!press || !rfb()) return;
      event.preventDefault();
      this.#paste(rfb(), press, event.clipboardData.getData("text/plain"));
    });
  }

  async #paste(rfb, press, text) {
    if (text === "") {
      notice("The clipboard holds no text.");
      return;
    }
    echo = text;
    const problem = await this.#send(text);
    if (problem) {
      notice(`The text was not pasted: ${problem}`);
      return;
    }
    if (press.metaKey) window.dispatchEvent(new Event("blur")); // noVNC lets go of Cmd
    const bare = press.key !== "Insert" && (press.metaKey || !this.#control);
    if (bare) rfb.sendKey(keysym.Control_L, "ControlLeft", true);
    rfb.sendKey(keysym[press.key] ?? keysym.v, press.code);
    if (bare) rfb.sendKey(keysym.Control_L, "ControlLeft", false);
  }
}

let echo = null; // text that was pasted, which comes back as the screen's new clipboard

// copyOut puts text that was copied on the screen on the person's clipboard. Browsers
// refuse that to pages in the background and to pages that nobody has clicked in.
export async function copyOut(text) {
  const own = text === echo;
  echo = null;
  if (own) return;
  try {
    await navigator.clipboard.writeText(text);
    notice("Copied from the screen.");
  } catch {
    notice("The browser does not let this page use the clipboard by itself.", { label: "Copy the text", run: () => copyOut(text) });
  }
}
