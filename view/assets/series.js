// The time series of a field: extrema and mean, and the value at the chosen point.

/** Maximum number of points. When there are more, the oldest are dropped. */
const MOST = 20000;

/** The region, run, field and component of the points. */
let key = '';
/** @type {Map<number, number[]>} version to [version, step, time, min, mean, max] */
let points = new Map();
let probeKey = '';
/** @type {Map<number, number>} version to value */
let probes = new Map();

/** Clears the series if `name` differs from the last one. */
export function seriesOf(name) {
  if (name === key) return;
  key = name;
  points = new Map();
  probes = new Map();
}

/** Adds the points of a message `series`. */
export function addPoints(rows) {
  for (const row of rows) points.set(row[0], row);
  trim(points);
}

/** Adds the moments and the value of a frame. */
export function addFrame(shown, component) {
  const { moments, probe, version } = shown;
  if (moments) {
    const { version: number, step, time } = moments.version ?? moments.of;
    points.set(number, [number, step, time, moments.min, moments.mean, moments.max]);
    trim(points);
  }
  // Without values, no block of the whole is there.
  if (!probe || probe.of.version !== version.version || probe.values.length === 0) return;
  const place = JSON.stringify(probe.at);
  if (place !== probeKey) {
    probeKey = place;
    probes = new Map();
  }
  probes.set(version.version, magnitude(probe.values, component));
  trim(probes);
}

/** Returns one component, or the magnitude of all. */
export function magnitude(values, component) {
  if (component !== null) return values[component];
  return values.length === 1 ? values[0] : Math.hypot(...values);
}

function trim(map) {
  for (const version of map.keys()) {
    if (map.size <= MOST) return;
    map.delete(version);
  }
}

/** Returns rows of [version, step, time, min, mean, max, probe], in the order of versions. */
export function series() {
  const all = new Set([...points.keys(), ...probes.keys()]);
  const rows = [...all].sort((a, b) => a - b).map((version) => {
    const row = points.get(version);
    return row && [...row, probes.get(version) ?? null];
  });
  return rows.filter(Boolean);
}
