// All benchmarks of one series with their latest values; and the table, whose rows are links.

class LinkTable extends BenchmarkTable {
  controls() {
    const controls = super.controls();
    this.table.classList.add("links");
    return controls;
  }

  rowPair(row) {
    return [h("tr", { id: row.id, class: "line" }, this.columns.map((column, i) => {
      const content = column.cell(row, this.state.grouped);
      if (i > 0) return h("td", { class: column.className }, content);
      return h("th", { scope: "row", class: column.className }, h("a", { class: "name", href: row.address }, content));
    }))];
  }
}

function rowName(row, grouped) {
  return [h("span", { class: "title" }, grouped || !row.group ? row.name : benchmarkTitle(row)), telling(row).length > 0 && h("span", { class: "words" }, telling(row).join(" · "))];
}

function searchable(row) {
  return [row.group, row.name, ...row.words, row.stmt].join(" ").toLowerCase();
}

function sparkline(levels) {
  const x = (i) => 2 + (i / Math.max(levels.length - 1, 1)) * 116;
  return s("svg", { width: 120, height: 18, viewBox: "0 0 120 18", "aria-hidden": "true" }, s("path", { class: "spark", d: `M${levels.map((level, i) => `${x(i).toFixed(1)} ${(16 - (level / 99) * 14).toFixed(1)}`).join("L")}` }));
}

function benchmarkList(place, key) {
  const series = seriesOf(key);
  const inSeries = site.benchmarks.map((row, i) => ({ ...row, at: i, here: row.latest.find((each) => each.series === series) })).filter((row) => row.here);
  const lastChange = new Map();
  for (const changed of site.changes) if (changed.series === series && !lastChange.has(changed.benchmark)) lastChange.set(changed.benchmark, changed);
  const rows = inSeries.map((row) => ({ ...row, id: `row-${row.number}`, search: searchable(row), address: benchmarkAddress(row, series), changed: lastChange.get(row.at) || null }));
  const metrics = [...new Set(rows.flatMap((row) => Object.keys(row.here.values).map(Number)))].sort((a, b) => a - b);
  const valueOf = (metric) => (row) => (row.here.values[metric] === undefined ? null : row.here.values[metric]);
  const columns = [
    { key: "name", name: "Benchmark", className: "first", value: benchmarkTitle, cell: rowName },
    { key: "spark", name: "", className: "spark-cell", cell: (row) => row.here.spark && sparkline(row.here.spark) },
    ...metrics.map((metric, i) => ({ key: `metric-${metric}`, name: metricName(site.metrics[metric]), className: i ? "right wide-only" : "right", value: valueOf(metric), largestFirst: true, cell: (row) => (valueOf(metric)(row) === null ? "" : metricText(site.metrics[metric], valueOf(metric)(row))) })),
    { key: "changed", name: "Last change", className: "right", value: (row) => (row.changed ? site.change_commits[row.changed.first][1] : null), largestFirst: true, cell: (row) => row.changed && [h("span", { class: `size is-${changeKind(row.changed)}` }, row.changed.relative === null ? "new" : change(ratioOf(row.changed))), " ", h("span", { class: "hint changed-on" }, dateText(site.change_commits[row.changed.first][1]))] },
  ];
  const holder = h("div", {});
  put(place, h("h1", {}, "Benchmarks"), h("div", { class: "controls" }, seriesChoice(series, (chosen) => go(address("benchmarks", site.series[chosen].key)))), holder);
  if (!rows.length) {
    holder.append(h("p", { class: "hint" }, "Nothing has been measured here."));
    return { title: "Benchmarks" };
  }
  const table = new LinkTable(holder, { rows, columns, caption: "Benchmarks with their latest values", sortKey: null, usual: site.usual_words });
  return { title: "Benchmarks", search: table.search };
}
