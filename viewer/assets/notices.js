// What the page has to say: a line below the bar, browser notifications, the title.

import { byId } from "./dom.js";

const line = byId("notice");
const action = byId("notice-action");
let timer = 0;

// notice shows a sentence for some seconds, or until the next one when it comes with a
// button: { label, run }.
export function notice(sentence, button = null) {
  clearTimeout(timer);
  byId("notice-text").textContent = sentence;
  line.toggleAttribute("data-on", sentence !== "");
  action.hidden = !button;
  if (button) {
    action.textContent = button.label;
    action.onclick = () => {
      notice("");
      button.run();
    };
    return;
  }
  if (sentence) timer = setTimeout(() => notice(""), 8000);
}

// retract takes a sentence back if it is still there.
export function retract(sentence) {
  if (sentence && byId("notice-text").textContent === sentence) notice("");
}

export const clearNotice = () => notice("");

const asked = new Set(); // requests that were notified

// attend tells of agents that ask for a person, once each, and marks the page's title.
export function attend(sessions, name) {
  const needing = sessions.filter((s) => s.request);
  document.title = needing.length ? `(${needing.length}) An agent needs you` : `Screens of ${name}`;
  for (const s of needing) {
    const id = `${s.id} ${s.request.at}`;
    if (asked.has(id)) continue;
    asked.add(id);
    if (window.Notification?.permission === "granted" && !document.hasFocus()) {
      const shown = new Notification("An agent needs you", { body: `${s.title}: ${s.request.reason}`, tag: s.id });
      shown.onclick = () => {
        window.focus();
        location.hash = `#screen=${s.screen}`;
      };
    }
  }
}

// offerNotifications shows a button until the person has decided.
export function offerNotifications() {
  const button = byId("notify");
  const undecided = () => window.Notification?.permission === "default";
  button.hidden = !undecided();
  button.onclick = async () => {
    await Notification.requestPermission();
    button.hidden = !undecided();
  };
}
