// A field for on-screen keyboards, which name no keys: what is typed into it goes to the
// screen character by character.

import { byId } from "./dom.js";

const field = byId("typing");
const unicode = 0x01000000; // plus a code point makes a keysym
const backSpace = 0xff08;
const enter = 0xff0d;

function keysym(character) {
  const point = character.codePointAt(0);
  return point < 0x100 ? point : unicode + point;
}

// setUpTyping makes the field send to what rfb returns, the connection or null.
export function setUpTyping(rfb) {
  const button = byId("type");
  button.onclick = () => {
    field.hidden = false;
    field.focus();
  };
  field.addEventListener("blur", () => (field.hidden = true));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") rfb()?.sendKey(enter, "Enter");
    if (event.key === "Escape") field.blur();
  });
  field.addEventListener("beforeinput", (event) => {
    if (event.isComposing) return; // the whole word comes at its end
    if (event.inputType === "deleteContentBackward") rfb()?.sendKey(backSpace, "Backspace");
    else for (const character of event.data ?? "") rfb()?.sendKey(keysym(character));
    event.preventDefault();
  });
  field.addEventListener("compositionend", (event) => {
    for (const character of event.data) rfb()?.sendKey(keysym(character));
    field.value = "";
  });
}

// offerTyping shows the button where there is no keyboard, while keys go to the screen.
export function offerTyping(mine) {
  byId("type").hidden = !(mine && matchMedia("(pointer: coarse)").matches);
  if (!mine) field.blur();
}
