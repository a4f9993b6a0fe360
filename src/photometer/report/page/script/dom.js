// Elements without markup: text only ever becomes a text node, so that nothing in a label or statement is executed.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG_SPACE, tag), properties, children);
}

// A sentence: what is in backticks becomes code.
function prose(text) {
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, place) => (place % 2 ? h("code", {}, part) : part)) : [text];
}

function byId(id) {
  return document.getElementById(id);
}

// One tooltip for the whole page. Pointer and keyboard focus both show it.
const tip = h("div", { class: "tip", role: "status", hidden: true });

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line, i) => h(i ? "div" : "strong", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + box.height + 20 > window.innerHeight ? y - box.height - 10 : y + 16;
  tip.style.left = `${Math.max(left, 8)}px`;
  tip.style.top = `${Math.max(top, 8)}px`;
}

function hideTip() {
  tip.hidden = true;
}

function tipFor(element, lines) {
  const text = () => (typeof lines === "function" ? lines() : lines);
  element.addEventListener("pointermove", (event) => showTip(text(), event.clientX, event.clientY));
  element.addEventListener("pointerleave", hideTip);
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    showTip(text(), box.left, box.bottom);
  });
  element.addEventListener("blur", hideTip);
  return element;
}
