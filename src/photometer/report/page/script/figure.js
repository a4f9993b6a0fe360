// The two kinds of overview figure, drawn as wide as there is room: points in a plane, and rows with intervals.
// plot_files.py draws the same figures into files.

const MARKS = {
  circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  diamond: (x, y, r) => `M${x} ${y - r * 1.25}L${x + r * 1.25} ${y}L${x} ${y + r * 1.25}L${x - r * 1.25} ${y}Z`,
  up: (x, y, r) => `M${x} ${y - r * 1.2}L${x + r * 1.1} ${y + r * 0.8}L${x - r * 1.1} ${y + r * 0.8}Z`,
  down: (x, y, r) => `M${x} ${y + r * 1.2}L${x + r * 1.1} ${y - r * 0.8}L${x - r * 1.1} ${y - r * 0.8}Z`,
};

// The values that a figure wants marked, as far as there is room for them.
function markedTicks(axis, scale) {
  if (!axis.ticks || !axis.ticks.length) return null;
  const kept = [];
  for (const tick of axis.ticks) {
    if (!kept.length || scale(tick) - scale(kept[kept.length - 1]) >= 44) kept.push(tick);
  }
  return kept;
}

function axisBottom(svg, axis, scale, [left, right], y, height) {
  const chosen = markedTicks(axis, scale);
  const ticks = chosen || scale.ticks(Math.max(2, Math.floor((right - left) / 90)));
  const step = chosen ? null : scale.step(Math.max(2, Math.floor((right - left) / 90)));
  for (const tick of ticks) {
    const x = scale(tick);
    if (x < left - 1 || x > right + 1) continue;
    svg.append(s("line", { class: "grid", x1: x, x2: x, y1: y - height, y2: y }));
    svg.append(s("text", { class: "tick", x, y: y + 16, "text-anchor": "middle" }, tickText(axis, tick, step)));
  }
  if (axis.label) {
    svg.append(s("text", { class: "axis", x: (left + right) / 2, y: y + 36, "text-anchor": "middle" }, axis.label));
  }
}

function axisLeft(svg, axis, scale, [top, bottom], x, width, apart = 50) {
  const wanted = Math.max(2, Math.floor((bottom - top) / apart));
  const step = scale.step(wanted);
  for (const tick of scale.ticks(wanted)) {
    const y = scale(tick);
    if (y < top - 1 || y > bottom + 1) continue;
    svg.append(s("line", { class: "grid", x1: x, x2: x + width, y1: y, y2: y }));
    svg.append(s("text", { class: "tick", x: x - 6, y: y + 4, "text-anchor": "end" }, tickText(axis, tick, step)));
  }
  if (axis.label) svg.append(s("text", { class: "axis", x: 0, y: top - 10 }, axis.label));
}

function drawPoints(figure, width, open) {
  const height = Math.min(Math.max(width * 0.5, 260), 420);
  const [left, right, top, bottom] = [64, width - 12, 30, height - 44];
  const all = figure.series.flatMap((series) => series.points);
  const x = scaleFor(figure.x, padded(all.map((p) => p.x).concat(figure.x_rules), figure.x), [left, right]);
  const y = scaleFor(figure.y, padded(all.map((p) => p.y).concat(figure.y_rules), figure.y), [bottom, top]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": figure.title });
  axisBottom(svg, figure.x, x, [left, right], bottom, bottom - top);
  axisLeft(svg, figure.y, y, [top, bottom], left, right - left);
  for (const at of figure.x_rules) svg.append(s("line", { class: "rule", x1: x(at), x2: x(at), y1: top, y2: bottom }));
  for (const at of figure.y_rules) svg.append(s("line", { class: "rule", x1: left, x2: right, y1: y(at), y2: y(at) }));
  for (const series of figure.series) {
    for (const point of series.points) {
      const mark = s("path", { class: `mark is-${series.style}`, d: MARKS[series.shape](x(point.x), y(point.y), 4) });
      tipFor(mark, [point.label, `${figure.x.label}: ${pointText(figure.x, point.x)}`, `${figure.y.label}: ${pointText(figure.y, point.y)}`]);
      if (point.id && open) {
        mark.classList.add("opens");
        mark.addEventListener("click", () => open(point.id));
      }
      svg.append(mark);
    }
  }
  return svg;
}

function pointText(axis, value) {
  if (axis.measures === "seconds") return time(value, 4);
  if (axis.measures === "change") return change(1 + value);
  if (axis.measures === "ratio") return `${value.toPrecision(3)}×`;
  return numberText(value);
}

function legend(figure, doubtful = new Set()) {
  if (figure.kind === "lines") return lineLegend(figure, doubtful);
  const shown = figure.series.filter((series) => series.points.length);
  if (shown.length < 2) return null;
  return h("p", { class: "legend" }, shown.map((series) => h("span", {},
    s("svg", { width: 12, height: 12, "aria-hidden": "true" },
      s("path", { class: `mark is-${series.style}`, d: MARKS[series.shape](6, 6, 4) })),
    `${series.name} (${count(series.points.length)})`)));
}

function drawRows(figure, width, open) {
  const narrow = width < 560;
  const rowHeight = narrow ? 40 : 26;
  const longest = Math.max(...figure.rows.map((row) => row.label.length));
  const labelWidth = narrow ? 8 : Math.min(width * 0.4, longest * 6.8 + 8);
  const noteWidth = figure.rows.some((row) => row.note) ? (narrow ? 0 : 190) : 0;
  const [left, right, top] = [labelWidth + 12, width - noteWidth - 12, 6];
  const height = top + figure.rows.length * rowHeight + 44;
  const bottom = height - 40;
  const values = figure.rows.flatMap((row) => [row.at, row.low, row.high, row.start]).concat(figure.rules, figure.band || []);
  const x = scaleFor(figure.axis, figure.domain || padded(values, figure.axis), [left, right]);
  const clamp = (value, fallback) => Math.min(Math.max(value === null ? fallback : x(value), left), right);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": figure.title });
  if (figure.band) svg.append(s("rect", { class: "margin", x: x(figure.band[0]), width: x(figure.band[1]) - x(figure.band[0]), y: top, height: bottom - top }));
  axisBottom(svg, figure.axis, x, [left, right], bottom, bottom - top);
  for (const at of figure.rules) svg.append(s("line", { class: "rule", x1: x(at), x2: x(at), y1: top, y2: bottom }));
  figure.rows.forEach((row, i) => {
    const middle = top + i * rowHeight + (narrow ? 28 : rowHeight / 2);
    const line = s("g", { class: `row is-${row.style}` });
    const words = narrow && row.note ? `${row.label}: ${row.note}` : row.label;
    line.append(s("text", narrow ? { class: "label", x: 2, y: middle - 12 } : { class: "label", x: labelWidth, y: middle + 4, "text-anchor": "end" }, shortened(words, (narrow ? width : labelWidth) / 7)));
    if (row.start !== null) {
      line.append(s("rect", { class: "bar", x: Math.min(clamp(row.start, left), clamp(row.at, left)), y: middle - 5, width: Math.max(Math.abs(clamp(row.at, left) - clamp(row.start, left)), 1), height: 10, rx: 1 }));
    }
    line.append(s("line", { class: "span", x1: clamp(row.low, left), x2: clamp(row.high, right), y1: middle, y2: middle }));
    if (row.start === null) line.append(s("path", { class: "mark", d: MARKS.circle(clamp(row.at, left), middle, 3.5) }));
    if (noteWidth) line.append(s("text", { class: "note", x: right + 12, y: middle + 4 }, row.note));
    tipFor(line, [row.label, ...(row.note ? [row.note] : [])]);
    if (row.id && open) {
      line.classList.add("opens");
      line.addEventListener("click", () => open(row.id));
    }
    svg.append(line);
  });
  return svg;
}

function shortened(text, characters) {
  const most = Math.max(Math.floor(characters), 3);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function drawFigure(figure, width, open, doubtful = new Set()) {
  if (figure.kind === "lines") return drawLines(figure, width, open, doubtful);
  return figure.kind === "rows" ? drawRows(figure, width, open) : drawPoints(figure, width, open);
}

// Draws into `place`, and again whenever its width changes.
function keepDrawn(place, draw) {
  let drawnAt = 0;
  const redraw = () => {
    const width = Math.floor(place.clientWidth);
    if (!width || width === drawnAt) return;
    drawnAt = width;
    place.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(place);
  redraw();
}
