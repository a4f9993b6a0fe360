// Functions as an icicle: callers above, callees below, width by instructions. A frame that is chosen fills the width.
// With two sides the colour says how a frame changed; a frame is as wide as its larger side.

const ROW = 20;
const READABLE = 44;

function drawIcicle(tree, width, { perRun, twoSides }) {
  const holder = h("div", { class: "icicle" });
  // `way` leads from the whole to the frame that fills the width now.
  const draw = (way) => {
    const frames = layFrames(way[way.length - 1], width);
    const depth = frames.reduce((most, frame) => Math.max(most, frame.depth), 0) + 1;
    const svg = s("svg", { viewBox: `0 0 ${width} ${depth * ROW}`, width, height: depth * ROW, role: "group", "aria-label": "Functions by instructions" });
    for (const frame of frames) svg.append(drawFrame(frame, way));
    const back = way.length > 1 && h("button", { type: "button", class: "quiet", onclick: () => draw(way.slice(0, -1)) }, "← back");
    holder.replaceChildren(...[back, svg].filter(Boolean));
  };
  const drawFrame = ({ node, start, depth, length }, way) => {
    const opens = node.children.length > 0 && depth > 0;
    const group = s("g", { class: `frame ${twoSides ? changeTone(node, tree) : plainTone(node, depth)}${opens ? " opens" : ""}`, tabindex: length > READABLE ? 0 : -1, role: opens ? "button" : "img", "aria-label": tipOf(node).join(", ") });
    group.append(s("rect", { x: start, y: depth * ROW, width: Math.max(length - 1, 0.5), height: ROW - 1, rx: 1 }));
    if (length > READABLE) {
      group.append(s("text", { x: start + 5, y: depth * ROW + 14 }, shortened(bare(node.name), (length - 8) / 6.6)));
    }
    tipFor(group, () => tipOf(node));
    const enter = () => {
      if (!opens) return;
      hideTip();
      draw([...way, node]);
    };
    group.addEventListener("click", enter);
    group.addEventListener("keydown", (event) => event.key === "Enter" && enter());
    return group;
  };
  const perRunText = (instructions) => countPerRun(Math.round((instructions / perRun) * 10) / 10);
  const tipOf = (node) => {
    if (!twoSides) return [node.name, `${perRunText(node.base)} instructions per run`, `${share(node.base / tree.base)} of all`];
    const signed = (value) => `${value > 0 ? "+" : ""}${perRunText(value)}`;
    return [node.name, `itself ${signed(node.own)}, with callees ${signed(node.branch - node.base)} instructions per run`, `base ${perRunText(node.base)}, branch ${perRunText(node.branch)}`];
  };
  draw([tree]);
  return holder;
}

function widest(node) {
  return Math.max(node.base, node.branch);
}

function layFrames(root, width) {
  const frames = [];
  const lay = (node, start, depth, scale) => {
    frames.push({ node, start, depth, length: widest(node) * scale });
    // Each child is as wide as its larger side, so together they may exceed their parent: then they shrink to fit.
    const below = node.children.reduce((sum, child) => sum + widest(child), 0);
    const fitted = below > widest(node) ? (scale * widest(node)) / below : scale;
    let place = start;
    for (const child of node.children) {
      const length = widest(child) * fitted;
      if (length >= 1) lay(child, place, depth + 1, fitted);
      place += length;
    }
  };
  lay(root, 0, 0, width / widest(root));
  return frames;
}

function plainTone(node, depth) {
  return `tone-${depth === 0 ? 0 : 1 + (hashOf(node.name) % 4)}`;
}

// By the function's own change, without its callees: so the function that changed stands out, not its callers.
function changeTone(node, tree) {
  const part = node.own / widest(tree);
  const size = Math.abs(part);
  // Frames below 0.2 % were counted to their callers when the stacks were recorded: smaller changes say nothing.
  if (size < 0.002) return "kept";
  return `${part > 0 ? "gained" : "lost"}-${size < 0.01 ? 1 : size < 0.04 ? 2 : 3}`;
}

function hashOf(text) {
  let hash = 0;
  for (let i = 0; i < text.length; i += 1) hash = (hash * 31 + text.charCodeAt(i)) >>> 0;
  return hash;
}

// A frame has room for the function's name, not for its file and arguments; the tooltip has all.
function bare(name) {
  const withoutFile = name.replace(/^\?\?\?:|^[^()<>]*?\.(?:c|cc|cpp|h|hpp|py|pyx|S):/, "");
  const named = withoutFile.replace(/\(anonymous namespace\)::/g, "");
  const paren = named.indexOf("(");
  return paren > 3 ? named.slice(0, paren) : named;
}

// From the page's compact form: [index of the name, base, branch, own change, children].
function readTree(packed, names) {
  if (!packed) return null;
  const [name, base, branch, own, children] = packed;
  return { name: names[name], base, branch, own, children: children.map((child) => readTree(child, names)) };
}
