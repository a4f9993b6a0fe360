// Numbers as text: the right unit, and no more digits than are known.

const UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];

function styleName(verdict) {
  return verdict.replace(" ", "-");
}


function unitOf(seconds) {
  const size = Math.abs(seconds);
  return UNITS.find(([, scale]) => size >= scale * (1 - 1e-9)) || UNITS[3];
}

function decimalsFor(value, digits) {
  if (!value) return 0;
  const leading = Math.floor(Math.log10(Math.abs(value))) + 1;
  return Math.max(digits - Math.max(leading, 1), 0);
}

function significant(value, digits) {
  return value.toFixed(Math.min(decimalsFor(value, digits), 12));
}

function time(seconds, digits = 4) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "unknown";
  const [unit, scale] = unitOf(seconds);
  return `${significant(seconds / scale, digits)}\u00a0${unit}`;
}

// The same for a column: the number beside its unit.
function timeCell(seconds, digits) {
  const [unit, scale] = unitOf(seconds);
  return h("span", { class: "num" }, significant(seconds / scale, Math.max(digits, 2)), h("span", { class: "unit" }, unit));
}

function signedTime(seconds, digits = 3) {
  if (!isFinite(seconds)) return "unknown";
  // Less than a tenth of a nanosecond is below what can be measured.
  if (Math.abs(seconds) < 5e-11) return "0\u00a0ns";
  return (seconds > 0 ? "+" : "") + time(seconds, digits);
}

function count(value, digits = 0) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function countPerRun(value) {
  return Number.isInteger(value) ? count(value) : count(value, Math.abs(value) < 1000 ? 1 : 0);
}

// A ratio as signed per cent, with two digits that mean something.
function change(ratio) {
  if (ratio === null || ratio === undefined || !isFinite(ratio)) return "unknown";
  const percent = (ratio - 1) * 100;
  const size = Math.abs(percent);
  const decimals = size ? Math.min(Math.max(0, 1 - Math.floor(Math.log10(size))), 3) : 0;
  if (Number(size.toFixed(decimals)) === 0) return `${(0).toFixed(decimals)}\u00a0%`;
  return `${percent > 0 ? "+" : "-"}${size.toFixed(decimals)}\u00a0%`;
}

// The same for a column.
function changeCell(ratio) {
  return h("span", { class: "num" }, change(ratio));
}

function changeSpan(interval) {
  const [low, high] = interval.map((end) => (end === null || !isFinite(end) ? "anything" : change(end)));
  return `${low} to ${high}`;
}

function share(value) {
  return `${(value * 100).toFixed(value < 0.1 ? 1 : 0)}\u00a0%`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  let size = value;
  while (Math.abs(size) >= 1024 && place < units.length - 1) {
    size /= 1024;
    place += 1;
  }
  return `${significant(size, 3)}\u00a0${units[place]}`;
}

function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}
