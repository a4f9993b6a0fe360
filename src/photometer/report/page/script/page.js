// Puts everything together: reads the light part of the data, draws the overview, and follows the address.

const VERDICTS = ["slower", "probably slower", "undecided", "probably faster", "faster", "same", "identical"];
const SIGNS = { slower: "▲", "probably slower": "△", undecided: "?", "probably faster": "▽", faster: "▼", same: "=", identical: "≡" };

const page = JSON.parse(byId("page-data").textContent);
const tables = [];

function searchable(row) {
  return [row.group, row.name, ...row.words, row.stmt].join(" ").toLowerCase();
}

// A row names only what distinguishes it from most benchmarks; a language only where there are two.
function telling(row) {
  return row.words.filter((word) => !page.usual_words.includes(word) && !(LANGUAGE_NAMES[word] && (row.sides || !row.several)));
}

function nameCell(row, grouped) {
  return [h("span", { class: "title" }, grouped || !row.group ? row.name : `${row.group} › ${row.name}`), telling(row).length > 0 && h("span", { class: "words" }, telling(row).join(" · "))];
}

function track(marks, className) {
  return s("svg", { class: `track ${className || ""}`, viewBox: "0 0 160 16", width: 160, height: 16, "aria-hidden": "true" }, marks);
}

const LANGUAGE_NAMES = { python: "Python", cpp: "C++" };
const LANGUAGE_STYLES = { python: ["base", "circle"], cpp: ["branch", "diamond"] };

function runTable(run) {
  const rows = run.rows.map((row) => ({ ...row, ids: Object.values(row.sides).map((side) => side.id), search: searchable(row) }));
  const languages = Object.keys(LANGUAGE_NAMES).filter((language) => rows.some((row) => row.sides[language]));
  const several = languages.length > 1;
  const value = (row, language, name) => row.sides[language]?.[name] ?? null;
  const sides = (row) => languages.map((language) => [language, row.sides[language]]).filter(([, side]) => side && side.seconds !== undefined);
  const ends = padded(rows.flatMap((row) => sides(row).flatMap(([, side]) => [side.q05, side.q95])), { scale: "log" }, 0.02);
  const x = logScale(ends, [6, 154]);
  const ticks = x.ticks(3).filter((tick, i, all) => !i || x(tick) - x(all[i - 1]) > 34);
  const lines = () => ticks.map((tick) => s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: 16 }));
  const mark = ([language, side], y) => {
    const [style, shape] = LANGUAGE_STYLES[language];
    return [s("line", { class: `span is-${style}`, x1: x(side.q05), x2: x(side.q95), y1: y, y2: y }), s("path", { class: `mark is-${style}`, d: MARKS[shape](x(side.seconds), y, 3) })];
  };
  const dots = (row) => {
    const found = sides(row);
    return found.length > 0 && track([lines(), found.map((each, i) => mark(each, found.length > 1 ? 4 + 8 * i : 8))]);
  };
  const axisHead = () => track(ticks.map((tick) => s("text", { class: "tick", x: Math.min(Math.max(x(tick), 20), 140), y: 12, "text-anchor": "middle" }, tickText({ measures: "seconds" }, tick))), "head");
  const half = (row, language) => (value(row, language, "high") === null ? null : (row.sides[language].high - row.sides[language].low) / 2 / row.sides[language].seconds);
  const columns = [
    { key: "name", name: "Benchmark", className: "first", value: (row) => `${row.group} ${row.name}`, cell: nameCell, plain: (row) => [row.group, row.name].filter(Boolean).join(" › ") + (telling(row).length ? ` [${telling(row).join(", ")}]` : "") },
    ...languages.flatMap((language) => [
      { key: `time-${language}`, name: timeHead(rows, language, several), plainName: `${LANGUAGE_NAMES[language]} seconds`, className: "right", value: (row) => value(row, language, "seconds") ?? value(row, language, "device"), largestFirst: true, cell: (row) => sideTime(row.sides[language]), plain: (row) => value(row, language, "seconds") ?? "" },
      { key: `interval-${language}`, name: "±", plainName: `${LANGUAGE_NAMES[language]} half interval`, className: "right narrow", value: (row) => half(row, language), largestFirst: true, cell: (row) => (half(row, language) === null ? "" : share(half(row, language))), plain: (row) => half(row, language) ?? "" },
      { key: `device-${language}`, name: several ? `${LANGUAGE_NAMES[language]} on device` : "On device", plainName: `${LANGUAGE_NAMES[language]} device seconds`, className: "right", value: (row) => value(row, language, "device"), largestFirst: true, cell: (row) => (hasBoth(row.sides[language]) ? timeCell(row.sides[language].device, 3) : ""), plain: (row) => value(row, language, "device") ?? "", used: rows.some((row) => hasBoth(row.sides[language])) },
    ]),
    { key: "axis", name: "", className: "chart", head: axisHead, cell: dots, used: rows.some((row) => sides(row).length) },
    ...languages.map((language) => ({ key: `instructions-${language}`, name: several ? `${LANGUAGE_NAMES[language]} instr.` : "Instructions", plainName: `${LANGUAGE_NAMES[language]} instructions`, className: several ? "right wide-only" : "right", value: (row) => value(row, language, "instructions"), largestFirst: true, cell: (row) => sideCount(row.sides[language]), plain: (row) => value(row, language, "instructions") ?? "", used: rows.some((row) => value(row, language, "instructions") !== null) })),
  ].filter((column) => column.used ?? (!column.key.startsWith("interval") || rows.some((row) => column.value(row) !== null)));
  const legend = runLegend(rows, languages);
  tables.push(new BenchmarkTable(byId("run-table"), { rows, columns, detail: runDetails, legend, caption: "Benchmarks: wall time and instructions of one run", sortKey: null, marked: isDoubtful, usual: [...page.usual_words, ...(several ? Object.keys(LANGUAGE_NAMES) : [])] }));
}

// What a column of times is: undisturbed, unless all were measured in one visit.
function timeHead(rows, language, several) {
  const undisturbed = rows.some((row) => row.sides[language]?.undisturbed);
  if (several) return undisturbed ? `${LANGUAGE_NAMES[language]}, undisturbed` : LANGUAGE_NAMES[language];
  return undisturbed ? "Undisturbed time" : "Time";
}

function isDoubtful(row) {
  return Object.values(row.sides).some((side) => side.doubtful);
}

// Host and device time of one side; a device time alone stands in the column of times.
function hasBoth(side) {
  return side !== undefined && side.seconds !== undefined && side.device !== undefined;
}

function sideTime(side) {
  if (!side) return "";
  const doubt = side.doubtful && h("abbr", { class: "caution", title: "doubtful: open the row to see why" }, "?");
  if (side.seconds !== undefined) return [doubt, doubt && " ", timeCell(side.seconds, side.digits)];
  if (side.device !== undefined) return [doubt, doubt && " ", timeCell(side.device, 4), h("abbr", { title: "on the device, cache warm" }, " dev")];
  return side.failed ? "failed" : "";
}

function sideCount(side) {
  if (!side) return "";
  if (side.instructions === undefined) return side.failed ? h("abbr", { class: "failed", title: "open the row to see why" }, "failed") : "";
  return [countPerRun(Math.round(side.instructions)), side.differs && h("abbr", { title: "The repeats differ: the most frequent value is shown." }, " *")];
}

// What every mark in the table means; only marks that are there.
function runLegend(rows, languages) {
  const all = rows.flatMap((row) => Object.values(row.sides));
  const drawn = (language) => s("svg", { width: 34, height: 12, "aria-hidden": "true" }, s("line", { class: `span is-${LANGUAGE_STYLES[language][0]}`, x1: 2, x2: 32, y1: 6, y2: 6 }), s("path", { class: `mark is-${LANGUAGE_STYLES[language][0]}`, d: MARKS[LANGUAGE_STYLES[language][1]](14, 6, 3) }));
  const items = [
    ...languages.map((language) => all.some((side) => side.seconds !== undefined) && [drawn(language), `${LANGUAGE_NAMES[language]}: the time, and where the middle 90 % of its blocks lie`]),
    all.some((side) => side.undisturbed) && ["Undisturbed", "the time when nothing else runs; a row has the typical time, too"],
    all.some((side) => side.high !== undefined) && ["±", "half the 95 % interval, as a share of the time"],
    all.some((side) => side.doubtful) && [h("span", { class: "caution" }, "?"), "doubtful, more than the rest: the row says why"],
    all.some((side) => side.differs) && ["*", "the repeats of this count differ: the value that most have"],
    all.some(hasBoth) && ["On device", "time on the device, with a warm cache; the time is the host's"],
    all.some((side) => side.device !== undefined && side.seconds === undefined) && ["dev", "time on the device, with a warm cache"],
    all.some((side) => side.failed) && ["failed", "this part could not be measured: the row says why"],
  ].filter(Boolean);
  return marksList(items);
}

function runDetails(row) {
  const parts = Object.entries(row.sides).map(([language, side]) => {
    const whole = { seconds: null, low: null, high: null, digits: 4, instructions: null, ...side };
    return Object.keys(row.sides).length > 1 ? h("div", { class: "side" }, h("h3", {}, LANGUAGE_NAMES[language] || language), runDetail(whole)) : runDetail(whole);
  });
  return parts.length > 1 ? h("div", { class: "sides" }, parts) : parts[0];
}

// Only the marks that are there.
function comparisonLegend(rows, reach) {
  const words = new Set(rows.map((row) => row.verdict));
  const changed = rows.filter((row) => row.hasChange);
  const mark = (className, d) => s("svg", { width: 34, height: 14, "aria-hidden": "true" }, d(className));
  const items = [
    ...Object.entries(SIGNS).filter(([verdict]) => words.has(verdict)).map(([verdict, sign]) => [sign, { slower: "slower", "probably slower": "probably slower: not yet certain", undecided: "not decided in the time given", "probably faster": "probably faster: not yet certain", faster: "faster", same: "the same, within a bound", identical: "the same instructions" }[verdict]]),
    changed.length > 0 && [mark("is-slower", (name) => [s("line", { class: `span ${name}`, x1: 2, x2: 32, y1: 7, y2: 7 }), s("path", { class: `mark ${name}`, d: MARKS.circle(16, 7, 3.2) })]), "the change of time, and its interval"],
    changed.some((row) => row.margin > 0) && [mark("margin", () => s("rect", { class: "margin", x: 8, width: 18, y: 0, height: 14 })), "the margin: changes that do not matter"],
    changed.some((row) => Math.abs(row.ratio - 1) > reach) && [mark("is-slower", (name) => s("path", { class: `mark ${name}`, d: "M23 2.5L29 7L23 11.5Z" })), "a change beyond the axis"],
  ].filter(Boolean);
  return marksList(items);
}

// The legend of a table: what each mark means.
function marksList(items) {
  return h("ul", { class: "marks" }, items.map(([sign, words]) => h("li", {}, h("span", { class: "sign" }, sign), words)));
}

function usedColumn(column, rows) {
  return column.key !== "instructions" || rows.some((row) => column.value(row) !== null);
}

function verdictMark(row) {
  return h("span", { class: `verdict is-${styleName(row.verdict)}` }, h("span", { "aria-hidden": "true", class: "sign" }, SIGNS[row.verdict]), row.shownVerdict);
}

function comparisonTable(comparison) {
  const several = comparison.rows.some((row) => row.words.includes("cpp"));
  const rows = comparison.rows.map((row) => ({ ...row, several, quiet: row.verdict === "identical", words: [...row.words], search: `${searchable(row)} ${row.verdict}` }));
  const reach = comparison.reach;
  const x = linearScale([-reach, reach], [6, 154]);
  const clamp = (value) => Math.min(Math.max(value, 2), 158);
  // A change beyond the axis is an arrow at its edge.
  const edgeMark = (at) => (at > 158 ? "M153 3.5L159 8L153 12.5Z" : at < 2 ? "M7 3.5L1 8L7 12.5Z" : MARKS.circle(at, 8, 3.2));
  const forest = (row) => {
    if (!row.hasChange) return "";
    const low = row.interval[0] === null ? 2 : clamp(x(row.interval[0] - 1));
    const high = row.interval[1] === null ? 158 : clamp(x(row.interval[1] - 1));
    return track([
      row.margin > 0 && s("rect", { class: "margin", x: clamp(x(-row.margin)), width: clamp(x(row.margin)) - clamp(x(-row.margin)), y: 0, height: 16 }),
      s("line", { class: "rule", x1: x(0), x2: x(0), y1: 0, y2: 16 }),
      s("line", { class: `span is-${styleName(row.verdict)}`, x1: low, x2: high, y1: 8, y2: 8 }),
      s("path", { class: `mark is-${styleName(row.verdict)}`, d: edgeMark(x(row.ratio - 1)) })]);
  };
  const axisHead = () => track([-reach, 0, reach].map((tick, i) => s("text", { class: "tick", x: [4, 80, 156][i], y: 12, "text-anchor": ["start", "middle", "end"][i] }, tickText({ measures: "change" }, tick, reach >= 0.02 ? 0.01 : 0.001))), "head");
  const columns = [
    { key: "name", name: "Benchmark", className: "first", value: (row) => `${row.group} ${row.name}`, cell: nameCell },
    { key: "verdict", name: "Verdict", className: "verdict-cell", value: (row) => VERDICTS.indexOf(row.verdict) - Math.min(Math.abs(row.ratio - 1), 0.99), cell: verdictMark },
    { key: "change", name: "Change", className: "right", value: (row) => (row.hasChange ? row.ratio : null), largestFirst: true, cell: (row) => (row.hasChange ? changeCell(row.ratio) : "") },
    { key: "axis", name: "", className: "chart", head: axisHead, cell: forest },
    { key: "difference", name: "Per run", className: "right wide-only", value: (row) => (row.hasChange ? row.difference : null), largestFirst: true, cell: (row) => (row.hasChange ? signedTime(row.difference, 2) : "") },
    { key: "instructions", name: "Instructions", className: "right wide-only", value: (row) => row.instructionRatio, largestFirst: true, cell: (row) => (row.instructionRatio === null || row.quiet ? "" : changeCell(row.instructionRatio)) },
  ];
  const table = new BenchmarkTable(byId("comparison-table"), { rows, columns: columns.filter((column) => usedColumn(column, rows)), detail: comparisonDetail, legend: comparisonLegend(rows, reach), caption: "Verdicts: the branch against the base", sortKey: "verdict", usual: page.usual_words, grouped: false });
  tables.push(table);
  for (const tile of document.querySelectorAll(".tile")) {
    tile.addEventListener("click", () => {
      const on = tile.getAttribute("aria-pressed") !== "true";
      for (const other of document.querySelectorAll(".tile")) other.setAttribute("aria-pressed", String(other === tile && on));
      table.change({ filter: on ? (row) => row.verdict === tile.dataset.verdict : null });
    });
  }
}

// The headline's number of doubtful rows shows them.
function linkDoubtful() {
  const table = tables.find((each) => each.marked);
  const button = byId("show-doubtful");
  if (button && table) button.addEventListener("click", () => {
    table.showMarked(true);
    table.place.scrollIntoView({ block: "start" });
  });
}

function openBenchmark(id) {
  return tables.some((table) => table.show(id));
}

function drawFigures() {
  const doubtful = new Set((page.run ? page.run.rows : []).flatMap((row) => Object.values(row.sides).filter((side) => side.doubtful).map((side) => side.id)));
  for (const place of document.querySelectorAll("[data-figure]")) {
    const figure = page.figures[Number(place.dataset.figure)];
    const marks = figure.series ? legend(figure, doubtful) : null;
    if (marks) place.before(marks);
    keepDrawn(place, (width) => drawFigure(figure, width, openBenchmark, doubtful));
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
linkDoubtful();
drawFigures();
document.addEventListener("keydown", useKeys);
window.addEventListener("hashchange", followAddress);
window.addEventListener("beforeprint", () => tables.forEach((table) => table.more(page.most_printed)));
// After the browser's own jump to the address, which would take the focus away again.
if (document.readyState === "complete") followAddress();
else window.addEventListener("load", () => setTimeout(followAddress));
// How long it took to open, in milliseconds: for tests.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
