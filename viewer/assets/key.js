// The key that opens this computer. A link carries it behind the # where no server and
// no log sees it; from there it moves into the browser's storage of this very address.

const place = "computer-use-key";
let key = read();

function read() {
  try {
    return localStorage.getItem(place) ?? "";
  } catch {
    return ""; // storage is switched off: the key lasts as long as the page
  }
}

export const currentKey = () => key;

export function keepKey(value) {
  key = value;
  try {
    if (value) localStorage.setItem(place, value);
    else localStorage.removeItem(place);
  } catch {
    // as above
  }
}

// takeKeyFromAddress moves a key out of the visible address and reports whether there
// was one. The rest of the address stays.
export function takeKeyFromAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  const value = params.get("key");
  if (value === null) return false;
  params.delete("key");
  const rest = params.toString();
  history.replaceState(null, "", location.pathname + (rest ? `#${rest}` : ""));
  keepKey(value);
  return true;
}

// screenInAddress returns the number of #screen=<n>, 0 for none.
export function screenInAddress() {
  const n = Number(new URLSearchParams(location.hash.slice(1)).get("screen"));
  return Number.isInteger(n) && n > 0 ? n : 0;
}
