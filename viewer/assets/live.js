// The page's channel to the computer. It connects again by itself for as long as the
// page is open. Events: "state" (connecting, live, lost, refused) and the types of
// message that viewer/message.go names; "thumbnail" stands for a binary message.

const firstWait = 300; // ms before the second attempt
const longestWait = 5000;
const wrongKey = 4001;

export class Live extends EventTarget {
  page = ""; // what proves to a screen's WebSocket who we are; empty while not live
  #socket = null;
  #key = "";
  #wait = firstWait;
  #timer = 0;

  // open connects with a key, in place of any connection that there is.
  open(key) {
    this.#key = key;
    this.#wait = firstWait;
    clearTimeout(this.#timer);
    if (this.#socket) {
      this.#socket.onclose = null;
      this.#socket.close();
    }
    this.#tell("state", { state: "connecting" });
    this.#connect();
  }

  // send drops what cannot be sent now: after a loss everything is asked for anew.
  send(type, fields = {}) {
    if (this.page) this.#socket.send(JSON.stringify({ type, ...fields }));
  }

  #connect() {
    const socket = new WebSocket(`ws://${location.host}/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(JSON.stringify({ type: "hello", key: this.#key }));
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onclose = (event) => this.#closed(event);
    this.#socket = socket;
  }

  #receive(data) {
    if (data instanceof ArrayBuffer) {
      const screen = new Uint8Array(data, 0, 1)[0];
      this.#tell("thumbnail", { screen, picture: new Blob([data.slice(1)], { type: "image/jpeg" }) });
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "welcome") {
      this.page = message.page;
      this.#wait = firstWait;
      this.#tell("state", { state: "live" });
    }
    this.#tell(message.type, message);
  }

  #closed(event) {
    this.page = "";
    if (event.code === wrongKey) {
      this.#tell("state", { state: "refused" });
      return;
    }
    this.#tell("state", { state: "lost", why: event.reason });
    this.#timer = setTimeout(() => this.#connect(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, longestWait);
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
