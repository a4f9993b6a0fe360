// What opens below a row. The heavy part of a benchmark is in a block of its own, which is read on demand.

const chunks = new Map();

function detailOf(row) {
  if (!chunks.has(row.chunk)) chunks.set(row.chunk, JSON.parse(byId(`chunk-${row.chunk}`).textContent));
  const chunk = chunks.get(row.chunk);
  return { ...chunk.details[row.place], names: chunk.names };
}

function unpacked(packed) {
  return packed.values.map((value) => value * packed.scale);
}

function section(title, ...content) {
  return h("section", { class: "part" }, h("h4", {}, title), ...content);
}

function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function plot(draw, className = "plot") {
  const place = h("div", { class: className });
  requestAnimationFrame(() => keepDrawn(place, draw));
  return place;
}

function warningList(warnings) {
  if (!warnings.length) return null;
  return h("ul", { class: "warnings" }, warnings.map(([message, remedy]) => h("li", {}, prose(message), remedy && h("span", { class: "remedy" }, " ", prose(remedy)))));
}

function codePart(code) {
  const piece = (title, text) => text && [h("h5", {}, title), h("pre", { tabindex: 0 }, h("code", {}, text))];
  return section(`Code as it ran${code.language === "cpp" ? " (C++)" : ""}`, piece("At file scope", code.global_setup), piece("Set-up", code.setup), piece("Statement", code.stmt));
}

function linkTo(row) {
  return h("a", { class: "permalink", href: `#${row.id}` }, "Link to this benchmark");
}

function runDetail(row) {
  const detail = detailOf(row);
  const parts = [warningList(detail.warnings)];
  if (detail.time) {
    const samples = unpacked(detail.time.samples);
    const sides = [{ samples, median: row.seconds, interval: [row.low, row.high], style: "base" }];
    const thinned = samples.length < detail.time.blocks ? ` Every ${Math.ceil(detail.time.blocks / samples.length)}th of ${count(detail.time.blocks)} blocks is drawn.` : "";
    const words = `Samples: ${figureName(detail).toLowerCase()} ${time(row.seconds, row.digits)}, from ${time(Math.min(...samples))} to ${time(Math.max(...samples))}.`;
    parts.push(section("Wall time", h("div", { class: "beside" }, h("div", {}, plot((width) => drawDistribution(sides, width, words)), h("p", { class: "hint" }, `The band is the 95 % interval of the ${detail.time.visits ? "undisturbed time" : "median"}.${thinned}`)), timeFacts(row, detail, samples))));
  }
  if (detail.counts) parts.push(countPart(detail));
  if (detail.device) parts.push(devicePart(detail.device));
  parts.push(codePart(detail.code), linkTo(row));
  return h("div", { class: "detail-body" }, parts);
}

function figureName(detail) {
  return detail.time.visits ? "Undisturbed" : "Median";
}

function timeFacts(row, detail, samples) {
  const ordered = [...samples].sort((a, b) => a - b);
  const middle = quantile(ordered, 0.75) - quantile(ordered, 0.25);
  return facts([
    [figureName(detail), time(row.seconds, Math.max(row.digits, 2))],
    row.high !== null && ["95 % interval", `${time(row.low, 4)} to ${time(row.high, 4)}`],
    detail.time.visits > 0 && ["Typical (median)", time(detail.time.typical, Math.max(row.digits, 2))],
    ["Fastest block", time(ordered[0], 4)],
    [`${detail.time.percentiles.map(([percent]) => percent).join(", ")} %`, `${detail.time.percentiles.map(([, seconds]) => time(seconds, 3)).join(", ")}, of ${detail.time.percentiles_of}`],
    detail.time.compile_seconds !== null && ["Compiling", `${time(detail.time.compile_seconds, 3)} in the first call`],
    ["IQR", `${share(middle / detail.time.typical)} of the median`],
    ["Measured", `${plural(detail.time.blocks, "block")} of ${plural(detail.time.runs_per_block, "run")}${detail.time.visits ? ` in ${plural(detail.time.visits, "visit")}` : ""}`],
    detail.counts !== null && row.seconds > 0 && ["Instructions/ns", significant(detail.counts.total / (row.seconds * 1e9), 3)],
  ]);
}

function countPart(detail) {
  const counts = detail.counts;
  const tree = readTree(counts.tree, detail.names);
  return section("Instructions per run", facts([
    ["Outside the allocator", countPerRun(counts.outside_allocator)],
    ["With the allocator", countPerRun(counts.total)],
    ["Allocator calls", countPerRun(counts.allocator_calls)],
    ["Repeats", counts.is_exact ? `${counts.repeats}, all exactly equal` : `${counts.repeats}, not all equal`],
  ]), counts.remarks.length > 0 && h("ul", { class: "warnings" }, counts.remarks.map((remark) => h("li", {}, prose(remark)))),
  tree && plot((width) => drawIcicle(tree, width, { perRun: counts.runs, twoSides: false })),
  tree && h("p", { class: "hint" }, counts.has_stacks ? "Callers above, callees below; width by instructions. Choose a frame to enlarge it." : "Library above, its costliest functions below; width by instructions. Callers were not recorded."));
}

function devicePart(device) {
  const modes = h("table", { class: "small" }, h("thead", {}, h("tr", {}, ["Mode", "Time", "95 % interval", "Taken from"].map((name, i) => h("th", { class: i === 1 || i === 2 ? "right" : "" }, name)))),
    h("tbody", {}, device.modes.map((mode) => h("tr", {}, h("td", {}, mode.name), h("td", { class: "right" }, mode.median === null ? "–" : time(mode.median, 4)), h("td", { class: "right" }, mode.interval && mode.interval[1] !== null ? `${time(mode.interval[0], 4)} to ${time(mode.interval[1], 4)}` : ""), h("td", {}, mode.median === null ? mode.absent_because : mode.source)))));
  const kernels = device.kernels.length > 0 && h("table", { class: "small" }, h("thead", {}, h("tr", {}, h("th", {}, "Kernel"), h("th", { class: "right" }, "Calls per run"), h("th", { class: "right" }, "Time per run"))),
    h("tbody", {}, device.kernels.map(([name, calls, seconds]) => h("tr", {}, h("td", {}, h("code", {}, name)), h("td", { class: "right" }, significant(calls, 3)), h("td", { class: "right" }, time(seconds, 3))))));
  return section(`On ${device.device}`, h("p", {}, `Bound by: ${device.bound}`), h("div", { class: "scrolls" }, modes), kernels && h("div", { class: "scrolls" }, kernels), device.added_bytes !== null && h("p", {}, `Memory added at the peak: ${bytes(device.added_bytes)}`));
}

function comparisonDetail(row) {
  const detail = detailOf(row);
  const parts = [h("p", { class: "sentence" }, detail.sentence), detail.cause && h("p", {}, detail.cause)];
  if (detail.notes.length) parts.push(h("ul", { class: "warnings" }, detail.notes.map((note) => h("li", {}, prose(note)))));
  const changes = changeFigure(row, detail);
  parts.push(section("How much it changed", h("div", { class: "beside" }, changes.rows.length > 0 && plot((width) => drawRows(changes, width)), facts([
    row.hasChange && ["Wall time", change(row.ratio)],
    row.hasChange && ["Interval", changeSpan(row.interval)],
    row.hasChange && ["Per run", signedTime(row.difference)],
    ["Base", time(row.seconds, 4)],
    row.instructionRatio !== null && ["Instructions", change(row.instructionRatio)],
    detail.detectable !== null && ["Detectable", `changes from ${change(1 + detail.detectable).replace("+", "")}`],
    detail.replicates > 0 && ["Replicates", count(detail.replicates)],
  ]))));
  const base = unpacked(detail.base);
  const branch = unpacked(detail.branch);
  if (base.length && branch.length) {
    // The times that the verdict compares; blocks lie above them if something else ran meanwhile.
    const compared = row.hasChange ? [row.seconds, row.seconds + row.difference] : [middleOf(base), middleOf(branch)];
    const sides = [{ samples: base, median: compared[0], style: "base" }, { samples: branch, median: compared[1], style: "branch" }];
    const said = row.hasChange ? `The lines are the times that are compared, ${time(compared[0], 3)} and ${time(compared[1], 3)}: the undisturbed times of all replicates. Blocks that something else disturbed lie above them.` : "The lines are medians.";
    parts.push(section("Samples of both sides", h("p", { class: "legend" }, ["base", "branch"].map((name) => h("span", {}, s("svg", { width: 12, height: 12, "aria-hidden": "true" }, s("path", { class: `mark is-${name}`, d: MARKS.circle(6, 6, 4) })), name))),
      plot((width) => drawDistribution(sides, width, `Base: ${time(compared[0])}; branch: ${time(compared[1])}.`)), h("p", { class: "hint" }, said)));
  }
  if (detail.functions.length || detail.own_code.length) parts.push(functionPart(detail));
  const tree = readTree(detail.tree, detail.names);
  if (tree) parts.push(section("Differential flame graph", plot((width) => drawIcicle(tree, width, { perRun: detail.runs, twoSides: true })), h("p", { class: "hint" }, "Exact instructions; callers above, callees below. Red: the function itself executes more; blue: it executes fewer. A frame is as wide as its larger side. Choose one to enlarge it.")));
  parts.push(detail.code.stmt && codePart(detail.code), linkTo(row));
  return h("div", { class: "detail-body" }, parts);
}

function middleOf(samples) {
  return quantile([...samples].sort((a, b) => a - b), 0.5);
}

function changeFigure(row, detail) {
  const end = (value) => (value === null ? null : value - 1);
  const rows = !row.hasChange ? [] : [{ label: "Wall time", at: row.ratio - 1, low: end(row.interval[0]), high: end(row.interval[1]), start: null, style: styleName(row.verdict), note: "" }];
  if (row.instructionRatio !== null) rows.push({ label: "Instructions", at: row.instructionRatio - 1, low: row.instructionRatio - 1, high: row.instructionRatio - 1, start: null, style: "base", note: "" });
  if (detail.layout_band) {
    const band = detail.layout_band;
    rows.push({ label: `Memory layouts (${band.layouts})`, at: band.high - 1, low: null, high: null, start: band.low - 1, style: "same", note: "" });
    rows[rows.length - 1].low = rows[rows.length - 1].high = band.high - 1;
  }
  return { title: "Change against the base", axis: { measures: "change", scale: "linear", label: "" }, rows, rules: [0], band: detail.margin ? [-detail.margin, detail.margin] : null };
}

// The user's own functions first, then the native ones that did the work.
function functionPart(detail) {
  const most = Math.max(...[...detail.own_code, ...detail.functions].map(([gained]) => Math.abs(gained)));
  const lines = (functions) => functions.map(([gained, name]) => h("tr", {},
    h("td", { class: "right" }, `${gained > 0 ? "+" : ""}${countPerRun(Math.round(gained))}`),
    h("td", { class: "gain" }, s("svg", { width: 90, height: 10, "aria-hidden": "true" }, s("rect", { class: gained > 0 ? "bar is-slower" : "bar is-faster", x: 0, y: 1, height: 8, width: Math.max((Math.abs(gained) / most) * 90, 1) }))),
    h("td", {}, h("code", {}, name))));
  const table = (functions) => h("div", { class: "scrolls" }, h("table", { class: "small functions" }, h("tbody", {}, lines(functions))));
  return section("Code that changed, in instructions per run",
    detail.own_code.length > 0 && [h("h5", {}, "Your functions, with all that they call"), table(detail.own_code)],
    detail.functions.length > 0 && [h("h5", {}, "Native functions, by themselves"), table(detail.functions)]);
}
