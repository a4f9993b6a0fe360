// Lines with intervals: curves of a sweep, and rooflines. plot_files.py draws the same figures into files.

function drawLines(figure, width, open, doubtful) {
  const height = Math.min(Math.max(width * 0.55, 250), 420);
  const [left, right, top, bottom] = [64, width - 14, 30, height - 44];
  const all = figure.series.flatMap((series) => series.points);
  const x = scaleFor(figure.x, padded(all.map((p) => p.x), figure.x), [left, right]);
  const y = scaleFor(figure.y, padded(all.flatMap((p) => [p.y, p.low, p.high]), figure.y), [bottom, top]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": figure.title });
  axisBottom(svg, figure.x, x, [left, right], bottom, bottom - top);
  axisLeft(svg, figure.y, y, [top, bottom], left, right - left);
  for (const series of figure.series) {
    const points = series.points.map((p) => [x(p.x), y(p.y)].map((at) => at.toFixed(1)).join(" "));
    if (series.joined && points.length > 1) svg.append(s("path", { class: `curve is-${series.style}`, d: `M${points.join("L")}` }));
  }
  for (const series of figure.series) {
    for (const point of series.marked ? series.points : []) drawLinePoint(svg, figure, series, point, { x, y, open, doubtful });
  }
  return svg;
}

// A doubtful time is hollow.
function drawLinePoint(svg, figure, series, point, { x, y, open, doubtful }) {
  const group = s("g", { class: `is-${series.style}` });
  const tips = [point.label, `${figure.x.label}: ${pointText(figure.x, point.x)}`, `${figure.y.label}: ${pointText(figure.y, point.y)}`];
  if (point.low !== null && point.high !== null) {
    group.append(s("line", { class: "reach", x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) }));
    tips.push(`from ${pointText(figure.y, point.low)} to ${pointText(figure.y, point.high)}`);
  }
  const isDoubtful = doubtful.has(point.id);
  if (isDoubtful) tips.push("doubtful: open its row to see why");
  const mark = s("path", { class: isDoubtful ? "mark doubtful" : "mark", d: MARKS[series.shape](x(point.x), y(point.y), 3.6) });
  group.append(mark);
  tipFor(group, tips);
  if (point.id && open) {
    mark.classList.add("opens");
    mark.addEventListener("click", () => open(point.id));
  }
  svg.append(group);
}

function lineLegend(figure, doubtful) {
  const shown = figure.series.filter((series) => series.points.length);
  const hollow = shown.some((series) => series.marked && series.points.some((point) => doubtful.has(point.id)));
  if (shown.length < 2 && !hollow) return null;
  return h("p", { class: "legend" }, shown.map((series) => h("span", {},
    s("svg", { width: 22, height: 12, "aria-hidden": "true" },
      series.joined && s("path", { class: `curve is-${series.style}`, d: "M1 6L21 6" }),
      series.marked && s("path", { class: `mark is-${series.style}`, d: MARKS[series.shape](11, 6, 3.6) })),
    series.name)),
  hollow && h("span", {}, s("svg", { width: 12, height: 12, "aria-hidden": "true" }, s("path", { class: "mark doubtful", d: MARKS.circle(6, 6, 3.6) })), "doubtful"));
}
