// The page of one benchmark: its curves over commits on one machine, its changes, verdicts of live comparisons, its code.

// What is drawn at once; the other metrics are folded.
const FIRST_METRICS = ["undisturbed_time", "device_hot", "instructions", "peak_memory", "device_peak_memory"];

async function benchmarkPage(place, key, seriesKey) {
  const number = site.benchmarks.findIndex((row) => row.key === key);
  if (number < 0) return missing(place, "There is no such benchmark. It may have been renamed, or its code was changed.");
  const row = site.benchmarks[number];
  const among = [...new Set(row.latest.map((each) => each.series))];
  const wanted = site.series.findIndex((each) => each.key === seriesKey);
  const series = among.includes(wanted) ? wanted : among[0] ?? 0;
  put(place,
    row.group && h("p", { class: "crumbs" }, row.group), h("h1", {}, row.name),
    telling(row).length > 0 && h("p", { class: "lead" }, telling(row).join(" · ")),
    h("div", { class: "controls" }, seriesChoice(series, (chosen) => go(benchmarkAddress(row, chosen)), { among })));
  if (among.length < 2 && site.series.length > 1) put(place, h("p", { class: "hint" }, seriesName(site.series[series])));
  const body = h("div", {}, h("p", { class: "hint" }, "Reading the curves…"));
  put(place, body);
  const [data, all] = await Promise.all([load(`benchmark-${row.number}`), load("commits")]);
  const commits = all.projects[site.series[series].project];
  const changes = site.changes.filter((changed) => changed.benchmark === number && changed.series === series).map((changed) => ({ ...changed, place: site.change_commits[changed.first][4] }));
  body.replaceChildren(...benchmarkBody(data, commits, series, changes).filter(Boolean));
  return { title: benchmarkTitle(row) };
}

function benchmarkBody(data, commits, series, changes) {
  const curves = data.curves.filter((curve) => curve.series === series && site.metrics[curve.metric]).map((curve) => ({ metric: curve.metric, points: unpackedCurve(curve) }));
  const view = new CurveView(commits);
  const places = curves.flatMap((curve) => [curve.points[0].place, curve.points[curve.points.length - 1].place]);
  if (places.length) view.whole = [Math.min(...places), Math.max(...places, Math.min(...places) + 1)];
  view.range = view.whole;
  const card = h("div", { "aria-live": "polite" });
  view.watchers.push((names) => names.includes("chosen") && card.replaceChildren(commitCard(view, curves, series)));
  const compared = comparedPoints(data.verdicts.filter((each) => each.series.includes(series)), commits);
  const isFirst = (curve) => FIRST_METRICS.includes(site.metrics[curve.metric].name);
  const first = curves.filter(isFirst);
  const rest = curves.filter((curve) => !isFirst(curve));
  const others = rest.length > 0 && h("details", { class: "fold" }, h("summary", {}, `Other metrics (${rest.map((curve) => metricName(site.metrics[curve.metric]).toLowerCase()).join(", ")})`), rest.map((curve) => chart(curve, view, changes, compared)));
  return [
    curves.length === 0 && h("p", { class: "hint" }, "Nothing has been measured here."),
    curves.length > 0 && zoomBar(view), ...first.map((curve) => chart(curve, view, changes, compared)), card, others,
    changes.length > 0 && h("section", {}, h("h2", {}, "Changes"), h("table", { class: "changes" }, h("tbody", {}, byCommit(changes).map((together) => changeRow(together, { named: false }))))),
    data.verdicts.length > 0 && verdictPart(data.verdicts),
    Object.keys(data.code).length > 0 && h("section", {}, h("h2", {}, "Code"), [["At file scope", "global_setup"], ["Set-up", "setup"], ["Statement", "stmt"]].filter(([, name]) => data.code[name]).map(([title, name]) => [h("h5", {}, title), h("pre", { tabindex: 0 }, h("code", {}, data.code[name]))])),
  ];
}

function byCommit(changes) {
  const found = new Map();
  for (const changed of changes) found.set(changed.first, [...(found.get(changed.first) || []), changed]);
  return [...found.values()];
}

// What live comparisons counted and measured of the memory of commits that are on the curves, by the name of the metric.
function comparedPoints(verdicts, commits) {
  const places = new Map(commits.map(([sha], place) => [sha, place]));
  const found = {};
  for (const each of verdicts) {
    for (const [name, values] of Object.entries(each.figures || {})) {
      [each.base, each.branch].forEach((sha, side) => places.has(sha) && (found[name] ||= []).push({ place: places.get(sha), value: values[side], at: each.at }));
    }
  }
  return found;
}

function chart(curve, view, changes, compared) {
  const metric = site.metrics[curve.metric];
  const holder = h("figure", { class: "over-commits" }, h("h3", {}, metricName(metric), metricHint(metric) && h("span", { class: "hint" }, ` ${metricHint(metric)}`)));
  new CurveChart(holder, { points: curve.points, metric, changes: changes.filter((changed) => changed.metric === curve.metric), compared: compared[metric.name] || [], view, title: metricName(metric) });
  return holder;
}

function zoomBar(view) {
  const words = h("span", { class: "hint", role: "status" });
  const button = (text, action) => h("button", { type: "button", class: "quiet", onclick: action }, text);
  const out = button("Whole history", () => view.set({ range: view.whole }));
  const zero = h("input", { type: "checkbox", onchange: (event) => view.set({ fromZero: event.target.checked }) });
  const tell = () => {
    const [low, high] = view.range.map(Math.round);
    const isWhole = view.range === view.whole || (low <= view.whole[0] && high >= view.whole[1]);
    out.disabled = isWhole;
    words.textContent = isWhole ? "Drag over a curve to enlarge a stretch of it; choose a commit for more." : `${shortSha(view.commits[low][0])} to ${shortSha(view.commits[high][0])}, ${plural(high - low + 1, "commit")}`;
  };
  view.watchers.push((names) => names.includes("range") && tell());
  tell();
  return h("div", { class: "zoom" }, h("span", {}, button("Closer", () => view.zoomBy(0.5)), button("Further", () => view.zoomBy(2)), out), h("label", { class: "check" }, zero, "From zero"), words);
}

function commitCard(view, curves, series) {
  if (view.chosen === null) return h("span", {});
  const [sha, at, author, subject] = view.commits[view.chosen];
  const before = Math.max(...curves.flatMap((curve) => curve.points.map((point) => point.place)).filter((place) => place < view.chosen));
  const values = curves.map((curve) => [site.metrics[curve.metric], curve.points.find((point) => point.place === view.chosen)]).filter(([, point]) => point);
  const key = site.series[series].key;
  return h("div", { class: "commit-card" },
    h("p", {}, shaLink(sha), " ", h("strong", {}, subject), h("span", { class: "hint" }, ` ${[author, momentText(at)].filter(Boolean).join(", ")}`)),
    h("p", {}, values.map(([metric, point]) => `${metricName(metric)}: ${metricText(metric, point.value)}`).join(" · ")),
    Number.isFinite(before) && h("p", {}, h("a", { href: address("compare", view.commits[before][0], sha, key) }, "Compare with the measured commit before"), h("span", { class: "hint" }, " · "), h("a", { href: address("compare", sha, view.commits[view.whole[1]][0], key) }, "with the latest")));
}

function verdictPart(verdicts) {
  const figures = (each) => Object.entries(each.figures || {}).filter(([, [base, branch]]) => base !== branch).map(([name, [base, branch]]) => [site.metrics.find((metric) => metric.name === name), base, branch]).filter(([metric]) => metric).map(([metric, base, branch]) => h("div", {}, `${metricName(metric)}: ${metricText(metric, base)} → ${metricText(metric, branch)}`));
  const row = (each) => h("tr", {}, h("td", {}, momentText(each.at)), h("td", {}, each.base ? shaLink(each.base) : "–", " → ", each.branch ? shaLink(each.branch) : "–"), h("td", {}, h("span", { class: `verdict is-${each.verdict}` }, each.verdict)), h("td", { class: "right" }, change(each.ratio)), h("td", {}, each.low === null || each.high === null ? "" : changeSpan([each.low, each.high])), h("td", {}, each.cause), h("td", {}, figures(each)));
  return h("section", {}, h("h2", {}, "Live comparisons"), h("div", { class: "scrolls" }, h("table", { class: "small" }, h("thead", {}, h("tr", {}, ["When", "Commits", "Verdict", "Change", "Interval", "Cause", "Counts and memory"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, verdicts.map(row)))));
}

function missing(place, words) {
  put(place, h("h1", {}, "Not found"), h("p", {}, words), h("p", {}, h("a", { href: "#/benchmarks" }, "All benchmarks")));
  return { title: "Not found" };
}
