// The first view: changes, the newest first, together by commit, each with its cause.

const GROUPS_AT_ONCE = 30;
const ROWS_OF_GROUP = 6;

function overview(place) {
  const state = { text: "", series: null, tile: null, origins: new Set(), metrics: new Set(), tags: new Set() };
  const list = h("div", { class: "groups" });
  const end = h("div", { class: "more" });
  const status = h("p", { class: "status", role: "status" });
  let groups = [];
  let drawn = 0;

  const searched = site.changes.map((changed) => {
    const row = site.benchmarks[changed.benchmark];
    const commit = site.change_commits[changed.first];
    return [benchmarkTitle(row), ...row.words, row.stmt, commit[0], commit[2], commit[3], ...changed.functions.map(([name]) => name), metricName(site.metrics[changed.metric]), changed.origin].join(" ").toLowerCase();
  });

  const matches = (changed, i) => (state.series === null || changed.series === state.series)
    && (state.tile === null || tileOf(changed) === state.tile)
    && (!state.origins.size || state.origins.has(changed.origin))
    && (!state.metrics.size || state.metrics.has(changed.metric))
    && [...state.tags].every((tag) => site.benchmarks[changed.benchmark].words.includes(tag))
    && state.text.split(/\s+/).every((word) => searched[i].includes(word));

  function update() {
    const chosen = site.changes.filter(matches);
    const byCommit = new Map();
    for (const changed of chosen) {
      if (!byCommit.has(changed.first)) byCommit.set(changed.first, []);
      byCommit.get(changed.first).push(changed);
    }
    groups = [...byCommit];
    status.textContent = chosen.length === site.changes.length ? "" : `${count(chosen.length)} of ${plural(site.changes.length, "change")}`;
    list.replaceChildren();
    drawn = 0;
    if (!groups.length) list.append(h("p", { class: "hint" }, site.changes.length ? "Nothing matches." : "Nothing has changed so far."));
    more();
  }

  function more() {
    const next = groups.slice(drawn, drawn + GROUPS_AT_ONCE);
    drawn += next.length;
    list.append(...next.map(([first, members]) => commitGroup(first, members)));
    if (drawn < groups.length && end.isConnected && end.getBoundingClientRect().top < window.innerHeight + 600) requestAnimationFrame(more);
  }

  const search = h("input", { type: "search", class: "search", placeholder: "Search changes", "aria-label": "Search benchmarks, commits and functions" });
  search.addEventListener("input", debounced(() => {
    state.text = search.value.toLowerCase().trim();
    update();
  }));
  const tile = (word, name) => {
    const number = site.changes.filter((changed) => tileOf(changed) === name).length;
    const button = h("button", { type: "button", class: `tile is-${name}`, "aria-pressed": "false", disabled: number === 0 }, h("span", { class: "number" }, count(number)), " ", h("span", { class: "word" }, word));
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button && on));
      state.tile = on ? name : null;
      update();
    });
    return button;
  };
  const toggle = (set, value, text) => {
    const button = h("button", { type: "button", class: "tag", "aria-pressed": "false" }, text);
    button.addEventListener("click", () => {
      const on = !set.has(value);
      set[on ? "add" : "delete"](value);
      button.setAttribute("aria-pressed", String(on));
      update();
    });
    return button;
  };
  const kinds = [...new Set(site.changes.map((changed) => changed.origin))];
  const metrics = [...new Set(site.changes.map((changed) => changed.metric))].sort((a, b) => a - b);
  const tags = tellingTags(site.changes.map((changed) => site.benchmarks[changed.benchmark]));
  put(place,
    h("h1", {}, site.title), h("p", { class: "lead" }, headline()),
    site.changes.length > 0 && h("div", { class: "tiles three", role: "group", "aria-label": "Changes; choose one to see only those" }, tile("slower or more", "slower"), tile("faster or less", "faster"), tile("from the machine", "machine")),
    h("div", { class: "controls" }, search, seriesChoice(null, (series) => {
      state.series = series;
      update();
    }, { none: "All machines" }),
    h("div", { class: "tags", role: "group", "aria-label": "Filters" },
      metrics.length > 1 && metrics.map((metric) => toggle(state.metrics, metric, metricName(site.metrics[metric]))),
      kinds.length > 1 && kinds.map((kind) => toggle(state.origins, kind, ORIGIN_NAMES[kind] || kind)),
      tags.map((tag) => toggle(state.tags, tag, tag)))),
    status, list, end, about());
  new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && more(), { rootMargin: "600px" }).observe(end);
  update();
  return { search, title: "Changes" };
}

function headline() {
  const commits = site.projects.reduce((sum, project) => sum + project.commits, 0);
  const machines = new Set(site.series.map((series) => series.machine)).size;
  return `${plural(site.changes.length, "change")} of ${plural(site.benchmarks.length, "benchmark")} in ${plural(commits, "commit")} on ${plural(machines, "machine")}`;
}

function about() {
  return h("details", { class: "fold plain" }, h("summary", {}, `Machines and environments (${count(site.series.length)})`),
    site.series.map((series) => [h("h3", {}, seriesName(series)), h("dl", { class: "facts columns" }, [["commits", count(series.commits)], ...series.facts].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))))]),
    h("p", { class: "hint" }, `${site.is_live ? "Read" : "Published"} ${momentText(site.made_at)} by photometer ${site.version}`));
}

function tellingTags(rows) {
  const numbers = new Map();
  for (const row of new Set(rows)) for (const word of row.words) numbers.set(word, (numbers.get(word) || 0) + 1);
  const all = new Set(rows).size;
  return [...numbers].filter(([, number]) => number < all).sort((a, b) => b[1] - a[1]).slice(0, 12).map(([word]) => word);
}

function commitGroup(first, members) {
  const [sha, at, author, subject] = site.change_commits[first];
  const rows = h("tbody", {});
  const table = h("table", { class: "changes" }, rows);
  // The metrics of one benchmark together.
  const byBenchmark = new Map();
  for (const changed of members) {
    const key = `${changed.benchmark} ${changed.series}`;
    byBenchmark.set(key, [...(byBenchmark.get(key) || []), changed]);
  }
  const benchmarks = [...byBenchmark.values()];
  const shown = benchmarks.slice(0, benchmarks.length > ROWS_OF_GROUP + 2 ? ROWS_OF_GROUP : benchmarks.length);
  rows.append(...shown.map((changes) => changeRow(changes)));
  const rest = benchmarks.slice(shown.length);
  const button = rest.length > 0 && h("button", { type: "button", class: "quiet more-rows" }, `${count(rest.length)} more`);
  if (button) {
    button.addEventListener("click", () => {
      rows.append(...rest.map((changes) => changeRow(changes)));
      button.remove();
    });
  }
  return h("section", { class: "commit-group", "aria-label": `Commit ${shortSha(sha)}` },
    h("p", { class: "commit-head" }, shaLink(sha), h("span", { class: "subject" }, subject || "No subject"), h("span", { class: "who" }, [author, momentText(at)].filter(Boolean).join(", "))),
    unmeasured(members), table, button);
}

// Which commit it was may be open: say so once per commit.
function unmeasured(members) {
  const between = Math.max(...members.map((changed) => (changed.between === null ? 0 : changed.between)));
  if (!between) return null;
  return h("p", { class: "hint" }, `Or one of the ${plural(between, "commit")} before it, which ${between === 1 ? "was" : "were"} not measured.`);
}

// Changes of one benchmark at one commit, on one machine; beside its own curves the commit is named, else the benchmark.
function changeRow(together, { named = true } = {}) {
  // What is exact explains the rest.
  const changes = [...together].sort((a, b) => (a.p !== null) - (b.p !== null) || a.metric - b.metric);
  const { benchmark, series, first, last } = changes[0];
  const row = site.benchmarks[benchmark];
  const [sha, at, , subject] = site.change_commits[first];
  const compareTo = h("a", { href: address("compare", site.change_commits[last][0], sha, site.series[series].key) }, "compare");
  const what = named
    ? [h("a", { href: benchmarkAddress(row, series) }, benchmarkTitle(row)), telling(row).length > 0 && h("span", { class: "hint" }, ` ${telling(row).join(" · ")}`), site.series.length > 1 && h("div", { class: "hint" }, seriesName(site.series[series]))]
    : h("p", { class: "commit-head" }, shaLink(sha), h("span", {}, subject), h("span", { class: "who" }, momentText(at)));
  return h("tr", {}, h("td", { class: "what" }, what), h("td", { class: "how" }, changes.map(changeSize)), h("td", {}, causes(changes), h("div", { class: "hint" }, compareTo)));
}

function changeSize(changed) {
  const metric = site.metrics[changed.metric];
  const ratio = ratioOf(changed);
  return h("div", { class: "how-much" }, h("span", { class: `size is-${changeKind(changed)}` }, ratio === null ? "new" : change(ratio)), " ", h("span", { class: "metric" }, metricName(metric).toLowerCase()), h("div", { class: "levels" }, `${metricText(metric, changed.before)} → ${metricText(metric, changed.after)}`));
}

// Functions tell why; a time beside a count that changed needs no word of its own.
function causes(changes) {
  const counted = changes.some((changed) => changed.p === null && changed.origin === "code");
  return changes.filter((changed) => !counted || changed.p === null || changed.origin !== "code").map((changed) => [cause(changed), changed.p !== null && h("span", { class: "hint" }, ` · ${certainty(changed.p)}`)]);
}

function cause(changed) {
  if (changed.functions.length) {
    const more = changed.more_functions ? [h("li", {}, `and ${plural(changed.more_functions, "function")} more`)] : [];
    return h("ul", { class: "functions" }, changed.functions.map(([name, added, whole]) => h("li", {}, `${added > 0 ? "+" : ""}${count(Math.round(added))} `, h("code", { title: whole }, shortened(name, 120)))), more);
  }
  if (changed.p === null && changed.origin === "code") return h("div", { class: "origin" }, site.metrics[changed.metric].unit === "instructions" ? "exact; which functions changed was not recorded" : "exact");
  const [style, words] = ORIGINS[changed.origin] || ["", changed.origin];
  const confirmed = changed.verdict && Number.isFinite(changed.verdict[1]) ? ` (${changed.verdict[0]}, ${change(changed.verdict[1])})` : "";
  return h("span", { class: `origin ${style}` }, words + confirmed);
}
