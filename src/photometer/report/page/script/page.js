// Puts everything together: reads the light part of the data, draws the overview, and follows the address.

const VERDICTS = ["slower", "undecided", "faster", "same", "identical"];
const SIGNS = { slower: "▲", undecided: "?", faster: "▼", same: "=" };

const page = JSON.parse(byId("page-data").textContent);
const tables = [];

function searchable(row) {
  return [row.group, row.name, ...row.words, row.stmt].join(" ").toLowerCase();
}

// A row names only what distinguishes it from most benchmarks.
function telling(row) {
  return row.words.filter((word) => !page.usual_words.includes(word));
}

function nameCell(row, grouped) {
  return [h("span", { class: "title" }, grouped || !row.group ? row.name : `${row.group} › ${row.name}`), telling(row).length > 0 && h("span", { class: "words" }, telling(row).join(" · "))];
}

function track(marks, className) {
  return s("svg", { class: `track ${className || ""}`, viewBox: "0 0 160 16", width: 160, height: 16, "aria-hidden": "true" }, marks);
}

function runTable(run) {
  const rows = run.rows.map((row) => ({ ...row, search: searchable(row) }));
  const ends = padded(rows.flatMap((row) => (row.seconds === null ? [] : [row.q05, row.q95])), { scale: "log" }, 0.02);
  const x = logScale(ends, [6, 154]);
  const ticks = x.ticks(3).filter((tick, i, all) => !i || x(tick) - x(all[i - 1]) > 34);
  const lines = () => ticks.map((tick) => s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: 16 }));
  const dot = (row) => row.seconds !== null && track([lines(), s("line", { class: "span is-base", x1: x(row.q05), x2: x(row.q95), y1: 8, y2: 8 }), s("path", { class: "mark is-base", d: MARKS.circle(x(row.seconds), 8, 3) })]);
  const axisHead = () => track(ticks.map((tick) => s("text", { class: "tick", x: Math.min(Math.max(x(tick), 20), 140), y: 12, "text-anchor": "middle" }, tickText({ measures: "seconds" }, tick))), "head");
  const half = (row) => (row.seconds === null || row.high === null ? null : (row.high - row.low) / 2 / row.seconds);
  const columns = [
    { key: "name", name: "Benchmark", className: "first", value: (row) => `${row.group} ${row.name}`, cell: nameCell },
    { key: "time", name: "Time", className: "right", value: (row) => row.seconds, largestFirst: true, cell: (row) => (row.seconds === null ? deviceTime(row) : timeCell(row.seconds, row.digits)) },
    { key: "interval", name: "±", className: "right narrow", value: half, largestFirst: true, cell: (row) => (half(row) === null ? "" : share(half(row))) },
    { key: "axis", name: "", className: "chart", ofTimes: true, head: axisHead, cell: dot },
    { key: "instructions", name: "Instructions", className: "right", value: (row) => row.instructions, largestFirst: true, cell: (row) => (row.instructions === null ? "" : [countPerRun(Math.round(row.instructions)), !row.exact && h("abbr", { title: "Not the same in every repeat: the value that most have." }, " repeats differ")]) },
    { key: "cautions", name: "Warnings", className: "cautions", value: (row) => row.warnings || null, largestFirst: true, cell: (row) => row.warnings > 0 && h("span", { class: "caution" }, h("span", { "aria-hidden": "true" }, "!"), h("span", { class: "unseen" }, plural(row.warnings, "warning"))) },
  ];
  tables.push(new BenchmarkTable(byId("run-table"), { rows, columns: columns.filter((column) => usedColumn(column, rows)), detail: runDetail, caption: "Benchmarks: wall time and instructions of one run", sortKey: null, usual: page.usual_words }));
}

function deviceTime(row) {
  return row.device === null ? "" : [timeCell(row.device, 4), h("abbr", { title: "on the device, cache warm" }, " dev")];
}

function usedColumn(column, rows) {
  if (column.key === "instructions" || column.key === "cautions") return rows.some((row) => column.value(row) !== null);
  if (column.key === "interval" || (column.key === "axis" && column.ofTimes)) return rows.some((row) => row.seconds !== null);
  return true;
}

function verdictMark(row) {
  return h("span", { class: `verdict is-${row.verdict}` }, h("span", { "aria-hidden": "true", class: "sign" }, SIGNS[row.verdict]), row.verdict);
}

function comparisonTable(comparison) {
  const rows = comparison.rows.map((row) => ({ ...row, words: [...row.words], search: `${searchable(row)} ${row.verdict}` }));
  const reach = comparison.reach;
  const x = linearScale([-reach, reach], [6, 154]);
  const clamp = (value) => Math.min(Math.max(value, 2), 158);
  // A change beyond the axis is an arrow at its edge.
  const edgeMark = (at) => (at > 158 ? "M153 3.5L159 8L153 12.5Z" : at < 2 ? "M7 3.5L1 8L7 12.5Z" : MARKS.circle(at, 8, 3.2));
  const forest = (row) => {
    const low = row.interval[0] === null ? 2 : clamp(x(row.interval[0] - 1));
    const high = row.interval[1] === null ? 158 : clamp(x(row.interval[1] - 1));
    return track([
      row.margin > 0 && s("rect", { class: "margin", x: clamp(x(-row.margin)), width: clamp(x(row.margin)) - clamp(x(-row.margin)), y: 0, height: 16 }),
      s("line", { class: "rule", x1: x(0), x2: x(0), y1: 0, y2: 16 }),
      s("line", { class: `span is-${row.verdict}`, x1: low, x2: high, y1: 8, y2: 8 }),
      s("path", { class: `mark is-${row.verdict}`, d: edgeMark(x(row.ratio - 1)) })]);
  };
  const axisHead = () => track([-reach, 0, reach].map((tick, i) => s("text", { class: "tick", x: [4, 80, 156][i], y: 12, "text-anchor": ["start", "middle", "end"][i] }, tickText({ measures: "change" }, tick, reach >= 0.02 ? 0.01 : 0.001))), "head");
  const columns = [
    { key: "name", name: "Benchmark", className: "first", value: (row) => `${row.group} ${row.name}`, cell: nameCell },
    { key: "verdict", name: "Verdict", className: "verdict-cell", value: (row) => VERDICTS.indexOf(row.verdict) - Math.min(Math.abs(row.ratio - 1), 0.99), cell: verdictMark },
    { key: "change", name: "Change", className: "right", value: (row) => row.ratio, largestFirst: true, cell: (row) => changeCell(row.ratio) },
    { key: "axis", name: "", className: "chart", head: axisHead, cell: forest },
    { key: "difference", name: "Per run", className: "right wide-only", value: (row) => row.difference, largestFirst: true, cell: (row) => signedTime(row.difference, 2) },
    { key: "instructions", name: "Instructions", className: "right wide-only", value: (row) => row.instructionRatio, largestFirst: true, cell: (row) => (row.instructionRatio === null ? "" : changeCell(row.instructionRatio)) },
  ];
  const table = new BenchmarkTable(byId("comparison-table"), { rows, columns: columns.filter((column) => usedColumn(column, rows)), detail: comparisonDetail, caption: "Verdicts: the branch against the base", sortKey: "verdict", usual: page.usual_words, grouped: false });
  tables.push(table);
  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      const on = tile.getAttribute("aria-pressed") !== "true";
      for (const other of document.querySelectorAll(".tile")) other.setAttribute("aria-pressed", String(other === tile && on));
      table.change({ filter: on ? (row) => row.verdict === tile.dataset.verdict : null });
    });
  }
}

function openBenchmark(id) {
  return tables.some((table) => table.show(id));
}

function drawFigures() {
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = page.figures[Number(place.dataset.figure)];
    const marks = figure.series ? legend(figure) : null;
    if (marks) place.before(marks);
    keepDrawn(place, (width) => drawFigure(figure, width, openBenchmark));
  }
}

function useKeys(event) {
  const typing = event.target.closest("input,textarea,select");
  if (event.key === "/" && !typing && tables.length) {
    event.preventDefault();
    tables[0].search.focus();
    tables[0].search.scrollIntoView({ block: "center" });
  }
  if (event.key === "Escape") hideTip();
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const here = event.target.closest("button.name,button.fold");
  if (!here) return;
  const all = [...here.closest("table").querySelectorAll("button.name,button.fold")];
  const next = all[all.indexOf(here) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function followAddress() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (id) openBenchmark(id);
}

document.body.append(tip);
chooseTheme();
if (page.comparison) comparisonTable(page.comparison);
if (page.run) runTable(page.run);
drawFigures();
document.addEventListener("keydown", useKeys);
window.addEventListener("hashchange", followAddress);
window.addEventListener("beforeprint", () => tables.forEach((table) => table.more(page.most_printed)));
// After the browser's own jump to the address, which would take the focus away again.
if (document.readyState === "complete") followAddress();
else window.addEventListener("load", () => setTimeout(followAddress));
// How long it took to open, in milliseconds: for tests.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
