// The bar above a screen, and the agent's request below it.

import { byId, setAttribute, setText } from "./dom.js";
import { control, viewers } from "./words.js";

const view = byId("screen");

export function setUpBar(screen, live) {
  byId("lock").onclick = () => (screen.mine ? screen.handBack() : screen.take());
  byId("fit").onclick = () => {
    screen.fit = !screen.fit;
    setAttribute(byId("fit"), "aria-pressed", String(screen.fit));
  };
  byId("full").onclick = toggleFull;
  const menu = byId("keys-menu");
  byId("ctrl-alt-del").onclick = () => {
    menu.hidePopover();
    screen.rfb?.sendCtrlAltDel();
  };
  byId("reset-keys").onclick = () => {
    menu.hidePopover();
    live.send("reset_keys", { screen: screen.number });
  };
  byId("request-done").onclick = () => answer("handed_back");
  byId("request-decline").onclick = () => answer("declined");
  function answer(outcome) {
    live.send("answer", { screen: screen.number, answer: outcome });
    if (screen.mine) screen.handBack();
  }
  document.addEventListener("fullscreenchange", () => {
    const full = document.fullscreenElement !== null;
    byId("full").querySelector(".label").textContent = full ? "Leave full screen" : "Full screen";
    // Where the browser can, Alt+Tab and the like go to the screen, too.
    if (full) navigator.keyboard?.lock?.();
    else navigator.keyboard?.unlock?.();
  });
  // The one key that never goes to the screen: without it there is no way out of it.
  view.addEventListener("keydown", (event) => {
    if (!event.ctrlKey || !event.altKey || event.key !== "Home") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    byId("lock").focus();
  }, true);
}

function toggleFull() {
  if (document.fullscreenElement) document.exitFullscreen();
  else view.requestFullscreen();
}

// fate says what is unusual about the screen.
function fate(session) {
  if (session?.state === "ended") return "Session ended, screen closes when you leave.";
  if (session?.state === "restarting") return "The screen is starting again. It comes back by itself.";
  return "";
}

export function renderBar({ session, screen }) {
  setText(byId("screen-number"), String(screen.number));
  setText(byId("screen-name"), session ? session.title : "This screen is not open");
  setText(byId("facts"), session
    ? [`${session.width} × ${session.height}`, viewers(session.viewers), control(session, screen.mine)].join(" · ")
    : "Its session has ended.");
  const asked = session?.request ?? null;
  setText(byId("lock-text"), screen.mine ? "Lock" : "Unlock");
  setAttribute(byId("lock-icon"), "href", screen.mine ? "#icon-lock" : "#icon-unlock");
  // Who has control keeps it beyond the session's end; nobody gets it then.
  byId("lock").disabled = !session || (session.state === "ended" && !screen.mine);
  for (const id of ["ctrl-alt-del", "reset-keys"]) byId(id).disabled = !screen.mine;
  setText(byId("fate"), fate(session));
  if (asked) setText(byId("request-reason"), asked.reason);
  byId("request").hidden = !asked;
}
