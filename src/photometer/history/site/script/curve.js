// A curve over commits: values with intervals, levels and changes; zoom by dragging, a commit on hover or by arrow keys.

const CURVE_HEIGHT = 210;
// More dots than this in view are a blot: the line alone is drawn.
const MOST_DOTS = 260;
// Noise that fills the height looks like a change: the axis shows at least this much of the level.
const LEAST_SHOWN = 0.05;
const DRAG_PIXELS = 6;

// What all charts of a page share: the range of commits in view, the commit under the pointer, the chosen one.
class CurveView {
  constructor(commits) {
    this.commits = commits;
    this.whole = [0, Math.max(commits.length - 1, 1)];
    this.range = this.whole;
    this.hovered = null;
    this.chosen = null;
    this.fromZero = false;
    this.watchers = [];
  }

  set(changes) {
    Object.assign(this, changes);
    for (const watcher of this.watchers) watcher(Object.keys(changes));
  }

  zoom(low, high) {
    const [first, last] = this.whole;
    const start = Math.max(first, Math.min(low, high));
    const end = Math.min(last, Math.max(low, high));
    this.set({ range: end - start >= 2 ? [start, end] : this.range });
  }

  zoomBy(factor) {
    const [low, high] = this.range;
    const middle = this.hovered === null ? (low + high) / 2 : this.hovered;
    const half = Math.max(((high - low) * factor) / 2, 2);
    this.zoom(middle - half, middle + half);
  }
}

function curveDomain(points, fromZero) {
  const ordered = points.map((point) => point.value).sort((a, b) => a - b);
  const [low, high] = [quantile(ordered, 0.02), quantile(ordered, 0.98)];
  // A few strays far away must not flatten the rest: they are drawn at the edge.
  const reach = Math.max(high - low, LEAST_SHOWN * Math.abs((low + high) / 2)) || 1;
  const inside = points.filter((point) => point.value >= low - reach / 2 && point.value <= high + reach / 2);
  const bottom = Math.min(...inside.map((point) => Math.max(point.low, low - reach / 2)));
  const top = Math.max(...inside.map((point) => Math.min(point.high, high + reach / 2)));
  const middle = (bottom + top) / 2;
  const half = (Math.max(top - bottom, LEAST_SHOWN * Math.abs(middle)) || 1) * 0.56;
  return fromZero ? [Math.min(0, middle - half), middle + half] : [middle - half, middle + half];
}

function drawCurve({ points, metric, changes, compared, view, width, label }) {
  const [low, high] = view.range;
  const near = points.filter((point) => point.place >= low && point.place <= high);
  // The line goes on beyond the edge.
  const firstIn = points.findIndex((point) => point.place >= low);
  const lastIn = points.findLastIndex((point) => point.place <= high);
  const drawn = points.slice(Math.max(firstIn - 1, 0), lastIn + 2);
  const [left, right, top, bottom] = [66, width - 10, 12, CURVE_HEIGHT - 26];
  const x = linearScale([low, high], [left, right]);
  const beside = compared.filter((each) => each.place >= low && each.place <= high).map((each) => ({ ...each, low: each.value, high: each.value }));
  const domain = curveDomain([...(near.length ? near : points), ...beside], view.fromZero);
  const y = linearScale(domain, [bottom, top]);
  const held = (value) => Math.min(Math.max(y(value), top), bottom);
  const svg = s("svg", { viewBox: `0 0 ${width} ${CURVE_HEIGHT}`, width, height: CURVE_HEIGHT, tabindex: 0, role: "img", "aria-label": label });
  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  svg.append(s("clipPath", { id: clip }, s("rect", { x: left, y: top - 4, width: right - left, height: bottom - top + 8 })));
  const step = y.step(4);
  for (const tick of y.ticks(4)) {
    svg.append(s("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }), s("text", { class: "tick", x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, metricTick(metric, tick, step)));
  }
  const labelled = [];
  for (const tick of x.ticks(Math.max(2, Math.floor((right - left) / 110)))) {
    const commit = view.commits[Math.round(tick)];
    const isBeside = labelled.length && x(tick) - labelled[labelled.length - 1].at < 80;
    if (!commit || isBeside || x(tick) < left + 28 || x(tick) > right - 28) continue;
    labelled.push({ at: x(tick), commit, day: dateText(commit[1]) });
  }
  labelled.forEach(({ at, commit, day }, i) => {
    const isDayOf = (other) => day !== "" && other !== undefined && other.day === day;
    // Labels of one day are distinguished by their times; the first of them has the day, too.
    const when = isDayOf(labelled[i - 1]) ? timeText(commit[1]) : isDayOf(labelled[i + 1]) ? momentText(commit[1]).slice(0, 16) : day || shortSha(commit[0]);
    svg.append(s("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }), s("text", { class: "tick", x: at, y: bottom + 17, "text-anchor": "middle" }, when));
  });
  const inner = s("g", { "clip-path": `url(#${clip})` });
  const at = (point, value) => `${x(point.place).toFixed(1)} ${held(value).toFixed(1)}`;
  if (drawn.some((point) => point.high > point.low)) {
    inner.append(s("path", { class: "interval", d: `M${drawn.map((point) => at(point, point.high)).join("L")}L${[...drawn].reverse().map((point) => at(point, point.low)).join("L")}Z` }));
  }
  if (drawn.length) {
    // A count stays what it is until the commit that changes it.
    const path = metric.exact ? drawn.map((point, i) => (i ? `H${x(point.place).toFixed(1)}V${held(point.value).toFixed(1)}` : at(point, point.value))).join("") : drawn.map((point) => at(point, point.value)).join("L");
    inner.append(s("path", { class: `line${near.length > MOST_DOTS && !metric.exact ? " dense" : ""}`, d: `M${path}` }));
  }
  for (const point of near) {
    const outside = point.value < domain[0] || point.value > domain[1];
    if (outside) inner.append(s("circle", { class: "stray", cx: x(point.place), cy: held(point.value), r: 3 }));
    else if (near.length <= MOST_DOTS) inner.append(s("circle", { class: "dot", cx: x(point.place), cy: y(point.value), r: 2 }));
  }
  for (const each of beside) {
    const mark = s("path", { class: "compared", d: diamond(x(each.place), held(each.value), 4.5) });
    mark.append(s("title", {}, `${metricText(metric, each.value)} in the comparison of ${momentText(each.at)}`));
    inner.append(mark);
  }
  if (!metric.exact) inner.append(...levelLines(changes, points, x, y, high));
  svg.append(inner);
  for (const changed of changes) {
    if (changed.place < low || changed.place > high) continue;
    const kind = changeKind(changed);
    const mark = s("path", { class: `step-mark is-${kind}`, d: MARKS[isMore(changed) ? "up" : "down"](x(changed.place), top - 4, 5) });
    mark.addEventListener("click", (event) => {
      event.stopPropagation();
      view.set({ chosen: changed.place });
    });
    svg.append(s("line", { class: `step is-${kind}`, x1: x(changed.place), x2: x(changed.place), y1: top, y2: bottom }), mark);
  }
  const overlay = s("g", { "pointer-events": "none" });
  svg.append(overlay);
  return { svg, x, y, held, overlay, edges: [left, right, top, bottom] };
}

function diamond(x, y, size) {
  return `M${x} ${y - size}L${x + size} ${y}L${x} ${y + size}L${x - size} ${y}Z`;
}

// The levels between changes of a time.
function levelLines(changes, points, x, y, end) {
  const ordered = [...changes].sort((a, b) => a.place - b.place);
  const lines = [];
  ordered.forEach((changed, i) => {
    const start = i ? ordered[i - 1].place : points[0].place;
    const stop = i + 1 < ordered.length ? ordered[i + 1].place : Math.min(points[points.length - 1].place, end);
    if (!i) lines.push([start, changed.place, changed.before]);
    lines.push([changed.place, stop, changed.after]);
  });
  return lines.map(([from, to, value]) => s("line", { class: "level", x1: x(from), x2: x(to), y1: y(value), y2: y(value) }));
}

function nearestPoint(points, place) {
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle].place < place) low = middle;
    else high = middle;
  }
  return Math.abs(points[low].place - place) <= Math.abs(points[high].place - place) ? low : high;
}

class CurveChart {
  constructor(place, { points, metric, changes, compared, view, title }) {
    Object.assign(this, { points, metric, changes, compared, view, place: h("div", { class: "plot" }) });
    this.label = `${title}: ${plural(points.length, "commit")}, latest ${metricText(metric, points[points.length - 1].value)}. Arrow keys go from commit to commit.`;
    place.append(this.place);
    view.watchers.push((names) => (names.includes("range") || names.includes("fromZero") ? this.draw() : this.mark()));
    new ResizeObserver(() => Math.floor(this.place.clientWidth) !== this.width && this.draw()).observe(this.place);
  }

  draw() {
    const width = Math.floor(this.place.clientWidth);
    if (!width) return;
    // After a click, a frame around the chart would only distract.
    const focused = this.byKeys && this.drawing && this.drawing.svg === document.activeElement;
    this.width = width;
    this.drawing = drawCurve({ ...this, width });
    this.place.replaceChildren(this.drawing.svg);
    this.listen(this.drawing.svg);
    if (focused) this.drawing.svg.focus({ preventScroll: true });
    this.mark();
  }

  listen(svg) {
    let started = null;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const [left, right] = this.drawing.edges;
      const inside = Math.min(Math.max(event.clientX - box.left, left), right);
      const [low, high] = this.view.range;
      return low + ((inside - left) / (right - left)) * (high - low);
    };
    svg.addEventListener("pointermove", (event) => {
      if (started) {
        if (Math.abs(event.clientX - started.x) > DRAG_PIXELS) started.moved = true;
        this.brush(started.moved ? [started.place, at(event)] : null);
      }
      const point = this.points[nearestPoint(this.points, at(event))];
      this.view.set({ hovered: point.place });
      this.tell(point, event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", () => {
      if (started) return;
      this.view.set({ hovered: null });
      hideTip();
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button || event.target.classList.contains("step-mark")) return;
      started = { x: event.clientX, place: at(event), moved: false };
      this.byKeys = false;
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointerup", (event) => {
      const from = started;
      started = null;
      this.brush(null);
      if (from && from.moved) this.view.zoom(from.place, at(event));
      else if (from) this.view.set({ chosen: this.points[nearestPoint(this.points, at(event))].place });
    });
    svg.addEventListener("pointercancel", () => {
      started = null;
      this.brush(null);
    });
    svg.addEventListener("dblclick", () => this.view.set({ range: this.view.whole }));
    svg.addEventListener("blur", hideTip);
    svg.addEventListener("keydown", (event) => this.useKey(event));
  }

  useKey(event) {
    this.byKeys = true;
    const here = this.view.hovered === null ? this.points.length - 1 : nearestPoint(this.points, this.view.hovered);
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };
    if (event.key in steps || event.key === "Home" || event.key === "End") {
      const next = event.key === "Home" ? 0 : event.key === "End" ? this.points.length - 1 : here + (this.view.hovered === null ? 0 : steps[event.key]);
      const point = this.points[Math.min(Math.max(next, 0), this.points.length - 1)];
      const [low, high] = this.view.range;
      if (point.place < low || point.place > high) this.view.zoom(point.place - (high - low) / 2, point.place + (high - low) / 2);
      this.view.set({ hovered: point.place });
      const box = this.drawing.svg.getBoundingClientRect();
      this.tell(point, box.left + this.drawing.x(point.place), box.top + this.drawing.held(point.value));
    } else if (event.key === "Enter" && this.view.hovered !== null) this.view.set({ chosen: this.view.hovered });
    else if (event.key === "+" || event.key === "=") this.view.zoomBy(0.5);
    else if (event.key === "-") this.view.zoomBy(2);
    else if (event.key === "0") this.view.set({ range: this.view.whole });
    else return;
    event.preventDefault();
  }

  brush(places) {
    this.drawing.svg.querySelector(".brush")?.remove();
    if (!places) return;
    const [, , top, bottom] = this.drawing.edges;
    const [from, to] = places.map(this.drawing.x).sort((a, b) => a - b);
    this.drawing.svg.append(s("rect", { class: "brush", x: from, width: to - from, y: top, height: bottom - top }));
  }

  // The lines through the commit under the pointer and the chosen one, in every chart.
  mark() {
    if (!this.drawing) return;
    const { overlay, x, held, edges: [, , top, bottom] } = this.drawing;
    overlay.replaceChildren();
    for (const [place, style] of [[this.view.chosen, "chosen"], [this.view.hovered, "cross"]]) {
      if (place === null || place < this.view.range[0] || place > this.view.range[1]) continue;
      overlay.append(s("line", { class: style, x1: x(place), x2: x(place), y1: top, y2: bottom }));
      const point = this.points[nearestPoint(this.points, place)];
      if (point.place === place) overlay.append(s("circle", { class: "cross-dot", cx: x(place), cy: held(point.value), r: 3.5 }));
    }
  }

  tell(point, x, y) {
    const [sha, at, author, subject] = this.view.commits[point.place];
    const interval = point.high > point.low ? ` (${metricText(this.metric, point.low)} to ${metricText(this.metric, point.high)})` : "";
    const found = this.changes.find((changed) => changed.place === point.place);
    const sides = this.compared.filter((each) => each.place === point.place).map((each) => `${metricText(this.metric, each.value)} in a live comparison, ${momentText(each.at)}`);
    showTip([`${metricText(this.metric, point.value)}${interval}`, ...new Set(sides), `${shortSha(sha)} ${shortened(subject, 90)}`, [author, momentText(at), point.runs > 1 && plural(point.runs, "run")].filter(Boolean).join(", "), ...(found && found.relative !== null ? [`Changed here: ${change(ratioOf(found))}`] : [])], x, y);
  }
}
