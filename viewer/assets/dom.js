// Small helpers around the document.

export const byId = (id) => document.getElementById(id);

// el makes an element. Of its properties, "class", "text" and those with a dash are
// attributes or content; the rest is set on the element.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else if (name.includes("-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

// setText changes a text only when it differs: screen readers announce, and selections
// end, at every change.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// setAttribute sets an attribute, or removes it when the value is null or false.
export function setAttribute(node, name, value) {
  if (value === null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// keyed makes the children of parent match items, one each and in their order. It keeps
// the child of a key, so that focus and pictures stay.
export function keyed(parent, items, key, create, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    let child = old.get(id);
    if (child) {
      old.delete(id);
    } else {
      child = create(item);
      child.dataset.key = id;
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const child of old.values()) child.remove();
}
