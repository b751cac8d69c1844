// Starts the page and passes on what happens: messages of the computer to the views,
// the address to the screen, the person's wishes to the computer.

import { renderBar, setUpBar } from "./bar.js";
import { PasteKeys } from "./clipboard.js";
import { byId, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { currentKey, keepKey, screenInAddress, takeKeyFromAddress } from "./key.js";
import { renderList } from "./list.js";
import { Live } from "./live.js";
import { attend, notice, offerNotifications } from "./notices.js";
import { Screen } from "./screen.js";
import { offerTyping, setUpTyping } from "./typing.js";

let sessions = [];
let connected = false; // the computer's list is the present one
let name = "computer";
let clockOffset = 0; // ms that the computer's clock is ahead of ours
let expiry = 90_000; // ms that control lasts without a sign of its holder

const live = new Live();
const screen = new Screen(live, render);
const grid = new Grid((wish) => live.send("thumbnails", wish));

function render() {
  const now = new Date(Date.now() + clockOffset);
  const number = screen.number;
  const mine = (n) => screen.mine && n === number;
  byId("app").dataset.view = number ? "screen" : "overview";
  byId("overview").hidden = number !== 0;
  byId("screen").hidden = number === 0;
  renderList({ sessions, screen: number, now });
  grid.render({ sessions, now, mine, connected });
  renderBar({ session: sessions.find((s) => s.screen === number), screen });
  offerTyping(screen.mine);
  attend(sessions, name);
}

function route() {
  if (takeKeyFromAddress()) live.open(currentKey());
  const before = screen.number;
  screen.enter(screenInAddress());
  render();
  // Whoever came by keyboard goes on where they are.
  if (screen.number) byId("lock").focus({ preventScroll: true });
  else if (before) document.querySelector(`.card[data-screen="${before}"]`)?.focus();
}

live.addEventListener("state", ({ detail: { state, why } }) => {
  const words = { connecting: "Connecting…", live: "Live", lost: why || "Connection lost, trying again…", refused: "The key is wrong" };
  byId("link").dataset.state = state;
  setText(byId("link"), words[state]);
  connected = connected && state === "live";
  if (state === "lost" && screen.number) notice(words.lost);
  if (state === "refused") askForKey("This key is wrong.");
});

live.addEventListener("welcome", ({ detail }) => {
  name = detail.name || name;
  expiry = detail.expiry_ms || expiry;
  setText(byId("name"), name);
  byId("key").close();
  notice("");
  grid.askAgain();
  screen.reconnect();
});

live.addEventListener("sessions", ({ detail }) => {
  sessions = detail.sessions ?? [];
  clockOffset = new Date(detail.now) - Date.now();
  connected = true;
  screen.heed(sessions.find((s) => s.screen === screen.number));
  render();
});

live.addEventListener("thumbnail", ({ detail }) => grid.show(detail.screen, detail.picture));

live.addEventListener("control", ({ detail }) => {
  if (detail.screen === screen.number) screen.setMine(detail.mine, detail.why);
});

live.addEventListener("notice", ({ detail }) => notice(detail.why));

// An agent has opened a screen. A person at work is not taken away from it.
live.addEventListener("show", ({ detail }) => {
  const go = () => (location.hash = `#screen=${detail.screen}`);
  if (screen.mine && detail.screen !== screen.number) notice(`Screen ${detail.screen} has opened.`, { label: "Go there", run: go });
  else go();
});

// paste sends text and resolves to what went wrong, empty when nothing did.
function paste(text) {
  return new Promise((resolve) => {
    live.addEventListener("pasted", ({ detail }) => resolve(detail.why ?? ""), { once: true });
    live.send("paste", { screen: screen.number, text });
  });
}

function askForKey(problem) {
  const dialog = byId("key");
  if (problem) {
    setText(byId("key-why"), problem);
    byId("key-why").classList.add("problem");
  }
  if (!dialog.open) dialog.showModal();
  byId("key-input").select();
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key-input").value.trim());
  live.open(currentKey());
});
byId("key").addEventListener("cancel", (event) => event.preventDefault()); // there is nothing behind it

byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

setUpBar(screen, live);
setUpTyping(() => screen.rfb);
new PasteKeys(byId("stage"), () => screen.rfb, paste);
offerNotifications();
addEventListener("hashchange", route);
setInterval(() => {
  if (!document.hidden) render(); // times go by
  screen.warn(expiry);
}, 1000);

takeKeyFromAddress();
if (currentKey()) live.open(currentKey());
else askForKey("");
route();
