// `window.tcasmView`: the data of the page for tests. It is read-only.

import { state, field, version } from './store.js';
import { drawn } from './slice-view.js';
import { sliceCsv } from './export.js';
import { series } from './series.js';
import { placeOf, sceneDrawn } from './scene-view.js';

/** The milliseconds from publish to pixels of up to 1000 versions, newest last. */
const latencies = [];

export function addLatency(ms) {
  latencies.push(ms);
  if (latencies.length > 1000) latencies.shift();
}

const rect = ({ x, y, width, height }) => ({ x, y, width, height });

/** Returns the name of an axis, and the coordinates at its ends. */
const axisOf = ({ name, coordinate }, ends) => ({ name, ends: ends.map(coordinate) });

const numbers = ({ values, base }) =>
  Array.from(values, (v) => (Number.isNaN(v) ? null : base + v));

/** Returns an image, or the images of several blocks, as plain data. */
function imageOf({ images, rows, cols, block, window, request, notFinite, values, base }) {
  const at = request?.slice?.at;
  if (images) return { at, notFinite, blocks: images.map(blockOf) };
  return { rows, cols, block, window, at, notFinite, values: numbers({ values, base }) };
}

function blockOf({ mesh, level, origin, spacing, rows, cols, block, window, values, base }) {
  const samples = numbers({ values, base });
  return { mesh, level, origin, spacing, rows, cols, block, window, values: samples };
}

/** Returns a panel as plain data. */
function panel({ image, range, table, title, role, map, xAxis, yAxis }) {
  const { rows, cols } = map;
  return {
    title,
    role: role ?? 'image',
    range: { ...range },
    colors: Array.from(table),
    box: rect(map.box),
    seen: { rows, cols },
    axes: [yAxis, xAxis].map((axis) => axis && axisOf(axis, axis === xAxis ? cols : rows)),
    image: image && imageOf(image),
  };
}

export function setUpInspection() {
  const view = {
    get state() {
      const { region, regions, shown, ...rest } = state;
      return structuredClone({ ...rest, region, regions });
    },
    get field() {
      return structuredClone(field());
    },
    get version() {
      return structuredClone(version());
    },
    get id() {
      return state.shown?.id ?? 0;
    },
    get shown() {
      const { field: name, probe, moments, histogram, line, error, empty } = state.shown ?? {};
      const values = line && Array.from(line.values);
      const array = (numbers) => numbers && Array.from(numbers);
      const low = array(line?.low);
      const ends = { low, high: array(line?.high), notFinite: line?.not_finite };
      const places = array(line?.places);
      const at = line?.request?.line?.at;
      const along = line && { axis: line.axis, at, values, places, ...ends };
      return structuredClone({ field: name, probe, moments, histogram, error, empty, line: along });
    },
    get volume() {
      const block = state.shown?.volume;
      const { shape, min, max, version: of } = block ?? {};
      return block && { shape: [...shape], min, max, version: of?.version };
    },
    get pages() {
      const { pages } = state.shown ?? {};
      return pages && { ...pages, values: Array.from(pages.values) };
    },
    get scene() {
      return structuredClone(sceneDrawn());
    },
    placeOf: (index) => placeOf(index),
    panels: () => drawn().map(panel),
    csv: () => sliceCsv(),
    series: () => series(),
    get latencies() {
      return [...latencies];
    },
  };
  Object.defineProperty(window, 'tcasmView', { value: Object.freeze(view) });
}
