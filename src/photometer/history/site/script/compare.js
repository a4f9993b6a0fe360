// Any two commits, measured on the same machine: every benchmark's values at both.

const MOST_OFFERED = 2000;
// The difference of two values with noise of one: three standard deviations.
const NOISE_FACTOR = 3 * Math.SQRT2;

async function comparePage(place, base, branch, seriesKey) {
  const series = seriesOf(seriesKey);
  const all = await load("commits");
  if (!site.series.length) return missing(place, "Nothing has been measured yet.");
  const project = site.series[series].project;
  const commits = all.projects[project];
  const find = (text) => commits.findIndex((commit) => text && commit[0].startsWith(text));
  const places = [find(base), find(branch)];
  if (places[0] < 0 && !base) places[0] = Math.max(commits.length - 2, 0);
  if (places[1] < 0 && !branch) places[1] = commits.length - 1;
  const key = site.series[series].key;
  const to = (from, until) => go(address("compare", commits[from][0], commits[until][0], key));
  const list = h("datalist", { id: "commits" }, commits.slice(-MOST_OFFERED).reverse().map((commit) => h("option", { value: `${shortSha(commit[0])} ${commit[3]}` })));
  const field = (i, text) => {
    const input = h("input", { class: "commit-input", list: "commits", value: places[i] < 0 ? "" : `${shortSha(commits[places[i]][0])} ${commits[places[i]][3]}`, "aria-label": text, spellcheck: "false" });
    input.addEventListener("focus", () => input.select());
    input.addEventListener("change", () => {
      const words = input.value.trim().toLowerCase();
      const found = find(words.split(/\s/)[0]);
      const chosen = found >= 0 ? found : commits.findLastIndex((commit) => words && commit[3].toLowerCase().includes(words));
      input.setCustomValidity(chosen < 0 ? "No measured commit has this name." : "");
      input.reportValidity();
      if (chosen >= 0) to(i ? places[0] : chosen, i ? chosen : places[1]);
    });
    const at = places[i] >= 0 && commits[places[i]];
    return h("div", {}, h("label", {}, text, input), at && h("p", { class: "hint" }, forgeAddress(at[0]) && [shaLink(at[0]), " · "], [at[2], momentText(at[1])].filter(Boolean).join(", ")));
  };
  put(place, h("h1", {}, "Compare two commits"), list,
    h("div", { class: "pick" }, field(0, "Base"), h("button", { type: "button", class: "quiet", onclick: () => places[0] >= 0 && places[1] >= 0 && to(places[1], places[0]) }, "Swap"), field(1, "Branch")),
    h("div", { class: "controls" }, seriesChoice(series, (chosen) => go(site.series[chosen].project === project && places[0] >= 0 && places[1] >= 0 ? address("compare", commits[places[0]][0], commits[places[1]][0], site.series[chosen].key) : address("compare", "", "", site.series[chosen].key)))));
  if (places.some((each) => each < 0)) {
    put(place, h("p", { class: "problem" }, "No measured commit has this name."));
    return { title: "Compare" };
  }
  const holder = h("div", {});
  put(place, holder);
  const sides = await Promise.all(places.map((each) => load(`commit-${project}-${each}`)));
  const rows = comparedRows(sides.map((side) => valuesOf(side, series)), series);
  const title = `${shortSha(commits[places[0]][0])} → ${shortSha(commits[places[1]][0])}`;
  if (!rows.length) {
    const unmeasured = sides.map((side, i) => valuesOf(side, series).size === 0 && shortSha(commits[places[i]][0])).filter(Boolean);
    holder.append(h("p", { class: "hint" }, unmeasured.length ? `${unmeasured.join(" and ")} ${unmeasured.length > 1 ? "were" : "was"} not measured on this machine.` : "They have no benchmark in common."));
    return { title };
  }
  const table = new LinkTable(holder, { rows, columns: comparedColumns(rows), caption: "Benchmarks at two commits", sortKey: "size", usual: site.usual_words, grouped: false });
  table.change({ descending: true });
  holder.append(h("p", { class: "hint" }, "Times were measured in different runs. A bold change is beyond both intervals and three times the noise from commit to commit, and the instructions changed too or were not counted. A live comparison decides: ", h("code", {}, `photometer compare git:${shortSha(commits[places[0]][0])} git:${shortSha(commits[places[1]][0])}`)));
  return { title, search: table.search };
}

// By benchmark, then by metric: value, low, high.
function valuesOf(side, series) {
  const found = new Map();
  for (const column of side.columns) {
    if (column.series !== series) continue;
    column.benchmarks.forEach((number, i) => {
      if (!found.has(number)) found.set(number, new Map());
      found.get(number).set(column.metric, { value: column.values[i], low: column.low[i], high: column.high[i] });
    });
  }
  return found;
}

function comparedRows([base, branch], series) {
  const rows = [];
  for (const [number, before] of base) {
    const after = branch.get(number);
    if (!after || !site.benchmarks[number]) continue;
    const pairs = new Map();
    for (const [metric, value] of before) {
      if (after.has(metric)) pairs.set(metric, [value, after.get(metric)]);
    }
    const row = site.benchmarks[number];
    const noise = (row.latest.find((each) => each.series === series) || {}).noise || {};
    if (pairs.size) rows.push({ ...row, id: `row-${row.number}`, search: searchable(row), address: benchmarkAddress(row, series), pairs, noise, size: sizeOf(pairs, noise) });
  }
  return rows;
}

function pairRatio(pair) {
  return pair && pair[0].value ? pair[1].value / pair[0].value : null;
}

// Beyond both intervals and beyond what this benchmark does from commit to commit, which tells more than an interval.
function isApart([before, after], noise = 0) {
  const beyondNoise = !noise || Math.abs(Math.log(after.value / before.value)) > NOISE_FACTOR * noise;
  return (after.low > before.high || after.high < before.low) && beyondNoise;
}

// Whether it is a time of instructions that are the same at both commits.
function isMachines(pairs, metric) {
  const counted = pairs.get(site.metrics.findIndex((each) => each.name === "instructions"));
  return TIMES_OF_INSTRUCTIONS.includes(site.metrics[metric].name) && counted !== undefined && !isApart(counted);
}

// What is certain comes first: counts and memory, then times beyond their intervals.
function sizeOf(pairs, noise) {
  let size = 0;
  for (const [metric, pair] of pairs) {
    const ratio = pairRatio(pair);
    if (ratio === null || ratio <= 0 || !isApart(pair, noise[metric]) || isMachines(pairs, metric)) continue;
    size = Math.max(size, Math.abs(Math.log(ratio)) + (site.metrics[metric].exact ? 1000 : 0));
  }
  return size;
}

function comparedColumns(rows) {
  const metrics = [...new Set(rows.flatMap((row) => [...row.pairs.keys()]))].sort((a, b) => a - b);
  const text = (row, metric, side) => (row.pairs.has(metric) ? metricText(site.metrics[metric], row.pairs.get(metric)[side].value) : "");
  const cell = (row, metric) => {
    const pair = row.pairs.get(metric);
    const ratio = pairRatio(pair);
    if (ratio === null) return "";
    const apart = isApart(pair, row.noise[metric]);
    const machines = apart && isMachines(row.pairs, metric);
    const kind = apart && !machines ? `size is-${ratio > 1 ? "more" : "less"}` : "hint";
    return [h("span", { class: kind }, site.metrics[metric].exact && ratio === 1 ? "same" : change(ratio)), machines && h("div", { class: "hint why" }, SAME_INSTRUCTIONS), h("div", { class: "hint from-to" }, `${text(row, metric, 0)} → ${text(row, metric, 1)}`)];
  };
  return [
    { key: "name", name: "Benchmark", className: "first", value: benchmarkTitle, cell: rowName },
    ...metrics.map((metric, i) => ({ key: `metric-${metric}`, name: metricName(site.metrics[metric]), className: i > 1 ? "right wide-only" : "right", value: (row) => pairRatio(row.pairs.get(metric)), largestFirst: true, cell: (row) => cell(row, metric) })),
    { key: "size", name: "", className: "unseen", value: (row) => row.size, largestFirst: true, cell: () => "" },
  ];
}
