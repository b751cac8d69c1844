// The body of a function of max, the most bytes of text and listed links: what a person reads
// in the document, with a number behind each link. Title and address come on top.
const links = [];
let text = "", used = 0, cut = false, unlisted = false;
const longest = 2000; // characters of an address

const block = new Set(("ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY BR DD DETAILS DIALOG DIV DL DT FIELDSET FIGCAPTION FIGURE " +
  "FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LEGEND LI MAIN NAV OL OPTION P PRE SECTION SUMMARY TABLE TR UL").split(" "));
const skipped = new Set("SCRIPT STYLE NOSCRIPT TEMPLATE HEAD SVG MATH CANVAS".split(" "));
const bytes = (s) => new TextEncoder().encode(s).length;

const say = (s) => {
  if (cut || !s) return;
  if (used + bytes(s) > max) {
    // Characters of up to 4 bytes; a piece is never cut within one.
    const rest = Array.from(s);
    while (rest.length && used + bytes(rest.join("")) > max) rest.length = Math.min(rest.length - 1, Math.floor(rest.length * 0.9));
    s = rest.join("");
    cut = true;
  }
  used += bytes(s);
  text += s;
};
const line = () => { if (text && !text.endsWith("\n")) say("\n"); };
const words = (s) => {
  s = s.replace(/\s+/g, " ");
  if (!text || /\s$/.test(text)) s = s.trimStart();
  say(s);
};

const label = (e) => (e.labels?.[0]?.innerText || e.getAttribute("aria-label") || e.placeholder || e.name || "").trim().slice(0, 80);
const field = (e) => {
  const secret = e.type === "password";
  let value = e.tagName === "SELECT" ? e.selectedOptions[0]?.text ?? "" : secret ? "•".repeat(Math.min(e.value.length, 8)) : e.value;
  if (e.type === "checkbox" || e.type === "radio") value = e.checked ? "x" : "";
  if (e.type === "submit" || e.type === "button" || e.type === "reset") return `[${e.value || e.type}]`;
  return `[${label(e)}: ${value}]`;
};

const walk = (node, pre) => {
  if (cut) return;
  if (node.nodeType === Node.TEXT_NODE) return pre ? say(node.data) : words(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE && node.nodeType !== Node.DOCUMENT_FRAGMENT_NODE) return;
  const tag = (node.tagName ?? "").toUpperCase();
  if (skipped.has(tag)) return;
  // display: contents has no box of its own, but what is in it may be seen.
  if (tag && !node.checkVisibility({ visibilityProperty: true }) && getComputedStyle(node).display !== "contents") return;
  if (tag === "IMG") return node.alt ? words(` [image: ${node.alt}] `) : undefined;
  if (tag === "INPUT") return node.type === "hidden" ? undefined : say(field(node) + " ");
  if (tag === "TEXTAREA" || tag === "SELECT") return say(field(node) + " ");
  // A frame of another site is closed to scripts of this one; a tiny one shows nothing.
  if (tag === "IFRAME" && node.contentDocument) return walk(node.contentDocument.body ?? node.contentDocument, false);
  if (tag === "IFRAME") return node.clientWidth * node.clientHeight > 100 ? words(` [frame of another site: ${node.src.slice(0, 200)}] `) : undefined;
  if (block.has(tag)) line();
  if (/^H[1-6]$/.test(tag)) say("#".repeat(Number(tag[1])) + " ");
  if (tag === "LI") say("- ");
  const from = text.length;
  const children = node.shadowRoot ? node.shadowRoot.childNodes : tag === "SLOT" ? node.assignedNodes() : node.childNodes;
  for (const child of children.length || tag !== "SLOT" ? children : node.childNodes) walk(child, pre || tag === "PRE");
  if (tag === "A" && node.href && !cut) {
    const url = String(node.href?.baseVal ?? node.href);
    const mark = `[${links.length + 1}]`;
    const listed = bytes(`\n${mark} ${url}`);
    if (used + listed + bytes(mark) > max) {
      unlisted = true;
    } else if (url.length <= longest) {
      links.push({ id: links.length + 1, text: text.slice(from).trim().slice(0, 200), url });
      used += listed;
      say(mark);
    }
  }
  if (tag === "TD" || tag === "TH") say(" | ");
  if (block.has(tag)) line();
};
if (document.body) walk(document.body, false);
return { url: location.href.slice(0, longest), title: Array.from(document.title).slice(0, 200).join(""), text: text.trim(), links, cut: cut || unlisted };
