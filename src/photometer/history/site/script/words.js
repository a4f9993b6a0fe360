// What metrics, commits and changes are called, and how their values are written.

const METRIC_WORDS = {
  undisturbed_time: ["Time", "undisturbed: a tenth of the blocks are quicker"],
  time: ["Typical time", "the median of all blocks"],
  instructions: ["Instructions", "outside the allocator"],
  all_instructions: ["All instructions", "the allocator included"],
  allocator_calls: ["Allocator calls", ""],
  peak_memory: ["Peak memory", ""],
  device_hot: ["Device time", "cache warm"],
  device_cold: ["Device time, cold", "cache cold"],
  device_peak_memory: ["Device memory", "at the peak"],
  compile_time: ["Compile time", ""],
};

const SAME_INSTRUCTIONS = "same instructions, so probably the machine";
// Times that the same instructions should give again.
const TIMES_OF_INSTRUCTIONS = ["undisturbed_time", "time"];

const ORIGINS = {
  code: ["", "the instructions changed, too"],
  machine: ["hint", SAME_INSTRUCTIONS],
  confirmed: ["sure", "confirmed by a live comparison"],
  "not confirmed": ["warn", "not confirmed by a live comparison"],
  open: ["", "instructions were not counted"],
};

// What the buttons that choose among changes say.
const ORIGIN_NAMES = { code: "from the code", machine: "from the machine", confirmed: "confirmed live", "not confirmed": "not confirmed live", open: "cause unknown" };

function metricName(metric) {
  const known = METRIC_WORDS[metric.name];
  if (known) return known[0];
  const words = metric.name.replace(/^metric /, "").replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function metricHint(metric) {
  const known = METRIC_WORDS[metric.name];
  return known ? known[1] : "";
}

function metricText(metric, value) {
  if (metric.unit === "s") return time(value, 4);
  if (metric.unit === "bytes") return bytes(value);
  const unit = metric.unit === "J" ? "\u00a0J" : "";
  // Of a count, a hundredth of an instruction says nothing.
  if (Number.isInteger(value) || Math.abs(value) >= (metric.exact ? 100 : 1e5)) return count(value) + unit;
  return (Math.abs(value) >= 1 ? count(value, 2) : String(Number(value.toPrecision(4)))) + unit;
}

// Ticks: as many digits as the step between them needs.
function metricTick(metric, value, step) {
  if (metric.unit === "s") return tickText({ measures: "seconds" }, value, step);
  if (metric.unit === "bytes") return bytes(value);
  const [sign, scale] = Math.abs(value) >= 1e9 ? ["G", 1e9] : Math.abs(value) >= 1e6 ? ["M", 1e6] : Math.abs(value) >= 1e4 ? ["k", 1e3] : ["", 1];
  const decimals = Math.min(Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9)), 12);
  return `${count(value / scale, decimals)}${sign}`;
}

function dateText(seconds) {
  return seconds ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
}

function timeText(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 16);
}

function momentText(seconds) {
  return seconds && `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function shortSha(sha) {
  return sha.slice(0, 10);
}

// The address of a commit at the forge; none unless a pattern is set and the name is one.
function forgeAddress(sha) {
  if (!site.commit_url || !/^[0-9a-f]{7,64}$/.test(sha)) return null;
  return site.commit_url.replaceAll("{sha}", sha);
}

function shaLink(sha) {
  const address = forgeAddress(sha);
  const text = h("span", { class: "sha" }, shortSha(sha));
  return address ? h("a", { href: address, rel: "noopener noreferrer" }, text) : text;
}

// Only what distinguishes it from the others, at least the machine.
function seriesName(series) {
  const project = site.projects.length > 1 ? `${site.projects[series.project].name} · ` : "";
  const environment = site.series.some((other) => other.environment !== series.environment) ? ` · ${series.environment}` : "";
  return `${project}${series.machine}${environment}`;
}

function telling(row) {
  return row.words.filter((word) => !site.usual_words.includes(word));
}

function benchmarkTitle(row) {
  return row.group ? `${row.group} › ${row.name}` : row.name;
}

function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function benchmarkAddress(row, series) {
  return series === undefined ? address("benchmark", row.key) : address("benchmark", row.key, site.series[series].key);
}

function ratioOf(changed) {
  return changed.relative === null ? null : 1 + changed.relative;
}

function isMore(changed) {
  return changed.after > changed.before;
}

// The colour: a change that is not the code's is neither good nor bad, and an author's metric may be either.
function changeKind(changed) {
  if (site.metrics[changed.metric].name.startsWith("metric ")) return "other";
  if (changed.origin === "machine" || changed.origin === "not confirmed") return "machine";
  return isMore(changed) ? "more" : "less";
}

// The tile of the overview that counts it.
function tileOf(changed) {
  if (changeKind(changed) === "machine") return "machine";
  return isMore(changed) ? "slower" : "faster";
}

function certainty(p) {
  if (p === null) return "exact";
  return p < 1e-12 ? "a clear step" : `p = ${p < 1e-3 ? p.toExponential(0).replace("e-", "·10⁻").replace(/⁻(\d+)/, (_, digits) => `⁻${[...digits].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`) : p.toPrecision(1)}`;
}

// A choice among series (machines are kept apart); nothing if there is only one. `none` names the choice of all.
function seriesChoice(chosen, onchange, { none = null, among = site.series.map((_, i) => i) } = {}) {
  if (among.length < 2 && none === null) return null;
  if (site.series.length < 2) return null;
  const select = h("select", { onchange: () => onchange(select.value === "" ? null : Number(select.value)) },
    none !== null && h("option", { value: "" }, none),
    among.map((i) => h("option", { value: i }, `${seriesName(site.series[i])} (${plural(site.series[i].commits, "commit")})`)));
  select.value = chosen === null ? "" : String(chosen);
  return h("label", { class: "choice" }, "Machine", select);
}

// Appends what there is: a condition that does not hold adds nothing.
function put(place, ...children) {
  return fill(place, {}, children);
}

function debounced(work, milliseconds = 120) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
}
