// All samples of a benchmark: over time, so that a drift shows, and as a histogram at the side on the same axis.

const BINS = 40;

function drawDistribution(sides, width, words) {
  const height = 220;
  const side = Math.min(150, width * 0.24);
  const [left, right, top, bottom] = [64, width - side - 16, 12, height - 40];
  const axis = { measures: "seconds", scale: "linear", label: "" };
  // A few stray blocks must not press all others onto a line; they are drawn at the edge, hollow.
  const inside = sides.flatMap((each) => {
    const [low, high] = outerFences([...each.samples].sort((a, b) => a - b));
    return each.samples.filter((value) => value >= low && value <= high);
  });
  const intervals = sides.flatMap((each) => each.interval || []).filter((end) => end !== null);
  const y = linearScale(padded(inside.concat(intervals), axis, 0.08), [bottom, top]);
  const longest = Math.max(...sides.map((each) => each.samples.length));
  const x = linearScale([0, Math.max(longest - 1, 1)], [left + 4, right - 4]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words });
  axisLeft(svg, axis, y, [top, bottom], left, right - left, 34);
  svg.append(s("text", { class: "axis", x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, "blocks, in the order measured"));
  svg.append(s("text", { class: "axis", x: right + 16 + side / 2, y: height - 8, "text-anchor": "middle" }, "histogram"));
  for (const each of sides) drawSide(svg, each, sides.length, { x, y, left, right, top, bottom, side });
  return svg;
}

function outerFences(ordered) {
  const [q1, q3] = [quantile(ordered, 0.25), quantile(ordered, 0.75)];
  const reach = Math.max((q3 - q1) * 4, q3 * 0.005);
  return [q1 - reach, q3 + reach];
}

function drawSide(svg, each, sidesCount, { x, y, left, right, top, bottom, side }) {
  const style = `is-${each.style}`;
  if (each.interval && each.interval.every((end) => end !== null)) {
    const [low, high] = each.interval;
    svg.append(s("rect", { class: `band ${style}`, x: left, width: right - left + 16 + side, y: y(high), height: Math.max(y(low) - y(high), 1) }));
  }
  const radius = each.samples.length > 400 ? 1.2 : 1.8;
  const inside = [];
  const outside = [];
  each.samples.forEach((value, i) => {
    const at = y(value);
    if (at < top || at > bottom) outside.push(MARKS.circle(x(i), at < top ? top + 2 : bottom - 2, 2));
    else inside.push(MARKS.circle(x(i), at, radius));
  });
  // One path for all: a thousand elements would cost a tenth of a second.
  svg.append(s("path", { class: `dots ${style}`, d: inside.join("") }));
  if (outside.length) svg.append(s("path", { class: `strays ${style}`, d: outside.join("") }));
  svg.append(s("line", { class: `middle ${style}`, x1: left, x2: right + 16 + side, y1: y(each.median), y2: y(each.median) }));
  svg.append(histogram(each.samples, y, right + 16, side, style, sidesCount > 1));
}

function histogram(samples, y, start, width, style, outlineOnly) {
  const [low, high] = y.domain;
  const bins = new Array(BINS).fill(0);
  for (const value of samples) {
    const place = Math.floor(((value - low) / (high - low)) * BINS);
    bins[Math.min(Math.max(place, 0), BINS - 1)] += 1;
  }
  const most = Math.max(...bins);
  let path = `M${start} ${y(low)}`;
  bins.forEach((number, i) => {
    const [from, to] = [low + ((high - low) * i) / BINS, low + ((high - low) * (i + 1)) / BINS];
    const reach = start + (number / most) * width;
    path += `L${reach.toFixed(1)} ${y(from).toFixed(1)}L${reach.toFixed(1)} ${y(to).toFixed(1)}`;
  });
  return s("path", { class: `histogram ${style}${outlineOnly ? " outline" : ""}`, d: `${path}L${start} ${y(high)}Z` });
}
