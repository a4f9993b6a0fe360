// Data files. They are scripts, because a page from disk may not read other files; each hands over JSON as text.

// The index, once it is there.
let site = null;

const DATA_FOLDER = "data";
const arrivals = new Map();
const loaded = new Map();

window.photometerData = (name, text) => {
  const arrived = arrivals.get(name);
  arrivals.delete(name);
  if (arrived) arrived(JSON.parse(text));
};

function load(name, version = "") {
  if (!loaded.has(name)) {
    loaded.set(name, new Promise((resolve, reject) => {
      arrivals.set(name, resolve);
      const script = h("script", { src: `${DATA_FOLDER}/${name}.js${version}` });
      script.addEventListener("load", () => script.remove());
      script.addEventListener("error", () => {
        arrivals.delete(name);
        loaded.delete(name);
        script.remove();
        reject(new Error(`${DATA_FOLDER}/${name}.js cannot be read. Publish the site again, or start the server again.`));
      });
      document.head.append(script);
    }));
  }
  return loaded.get(name);
}

// Reads a file again that may have changed since.
function reload(name) {
  loaded.delete(name);
  return load(name, `?${Date.now()}`);
}

function summed(steps) {
  let sum = 0;
  return steps.map((step) => (sum += step));
}

function unpackedNumbers({ exponent, steps }) {
  const scale = 10 ** Math.abs(exponent);
  return summed(steps).map((whole) => (exponent < 0 ? whole / scale : whole * scale));
}

// One point per commit: of several runs the median, and an interval that covers all of theirs.
function unpackedCurve(packed) {
  const places = summed(packed.commits);
  const values = unpackedNumbers(packed.values);
  const below = packed.below ? unpackedNumbers(packed.below) : null;
  const above = packed.above ? unpackedNumbers(packed.above) : null;
  const points = [];
  for (let i = 0; i < places.length;) {
    let end = i;
    while (end < places.length && places[end] === places[i]) end += 1;
    const runs = Array.from({ length: end - i }, (_, k) => ({ value: values[i + k], low: values[i + k] - (below ? below[i + k] : 0), high: values[i + k] + (above ? above[i + k] : 0) }));
    const ordered = runs.map((run) => run.value).sort((a, b) => a - b);
    points.push({ place: places[i], value: quantile(ordered, 0.5), low: Math.min(...runs.map((run) => run.low)), high: Math.max(...runs.map((run) => run.high)), runs: runs.length });
    i = end;
  }
  return points;
}
