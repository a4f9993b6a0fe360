// From values to places on a chart, and the ticks of an axis.

function niceStep(span, wanted) {
  const rough = span / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  // The nearest of 1, 2, 5 and 10, by ratio: the borders are the geometric means.
  const unit = rough / power;
  return power * (unit >= 7.07 ? 10 : unit >= 3.16 ? 5 : unit >= 1.41 ? 2 : 1);
}

function linearScale([low, high], [start, end]) {
  if (!(high > low)) high = low + (Math.abs(low) || 1) * 1e-3;
  const place = (value) => start + ((value - low) / (high - low)) * (end - start);
  place.domain = [low, high];
  place.ticks = (wanted) => {
    const step = niceStep(high - low, wanted);
    const first = Math.ceil(low / step - 1e-9);
    const ticks = [];
    for (let i = first; i * step <= high + step * 1e-6; i += 1) ticks.push(i * step);
    return ticks;
  };
  place.step = (wanted) => niceStep(high - low, wanted);
  return place;
}

function logScale([low, high], [start, end]) {
  if (!(low > 0)) low = 1e-12;
  if (!(high > low)) high = low * 1.1;
  const [bottom, top] = [Math.log10(low), Math.log10(high)];
  const place = (value) => start + ((Math.log10(value) - bottom) / (top - bottom)) * (end - start);
  place.domain = [low, high];
  place.ticks = (wanted) => {
    if (top - bottom < 1.2) {
      return linearScale([low, high], [0, 1]).ticks(Math.min(wanted, 4)).filter((tick) => tick > 0);
    }
    const every = Math.max(1, Math.ceil((top - bottom) / Math.max(wanted, 1)));
    const ticks = [];
    for (let p = Math.ceil(bottom - 1e-9); p <= top + 1e-9; p += every) ticks.push(10 ** p);
    return ticks;
  };
  place.step = () => null;
  return place;
}

function scaleFor(axis, domain, range) {
  return (axis.scale === "log" ? logScale : linearScale)(domain, range);
}

// What a tick says depends on what the axis measures.
function tickText(axis, value, step) {
  if (axis.measures === "seconds") {
    if (value === 0) return "0";
    const [unit, scale] = unitOf(value);
    const decimals = step ? Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9)) : null;
    const number = decimals === null ? String(Number((value / scale).toPrecision(3))) : (value / scale).toFixed(Math.min(decimals, 6));
    return `${number} ${unit}`;
  }
  if (axis.measures === "change") {
    const percent = value * 100;
    const decimals = step ? Math.max(0, -Math.floor(Math.log10(step * 100) + 1e-9)) : 0;
    if (Math.abs(percent) < 1e-9) return "0";
    return `${percent > 0 ? "+" : "-"}${Math.abs(percent).toFixed(decimals)} %`;
  }
  if (axis.measures === "ratio") return `${Number(value.toPrecision(3))}×`;
  if (Math.abs(value) >= 1e6) return `10${superscript(Math.log10(value))}`;
  return numberText(value);
}

function numberText(value) {
  return Number.isInteger(Number(value.toPrecision(6))) ? count(Number(value.toPrecision(6))) : String(Number(value.toPrecision(3)));
}

function superscript(power) {
  if (Math.abs(power - Math.round(power)) > 1e-6) return `^${power.toFixed(1)}`;
  return String(Math.round(power)).replace(/[0-9-]/g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(c)]);
}

function padded(values, axis, room = 0.05) {
  // An axis of changes shows at least one per cent to each side, so that noise does not fill the picture.
  let low = axis.measures === "change" ? -0.01 : Infinity;
  let high = axis.measures === "change" ? 0.01 : -Infinity;
  for (const value of values) {
    if (value === null || !isFinite(value) || (axis.scale === "log" && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return axis.scale === "log" ? [0.1, 10] : [0, 1];
  if (axis.scale === "log") return [low / (high / low || 1) ** room / 1.05, high * (high / low || 1) ** room * 1.05];
  const margin = (high - low || Math.abs(low) || 1) * room;
  // The axis begins where the data begin, and one of times, counts or sizes not below zero.
  return [low >= 0 && axis.measures !== "change" ? Math.max(low - margin, 0) : low - margin, high + margin];
}

function quantile(ordered, q) {
  const place = (ordered.length - 1) * q;
  const below = Math.floor(place);
  return ordered[below] + (ordered[Math.min(below + 1, ordered.length - 1)] - ordered[below]) * (place - below);
}
