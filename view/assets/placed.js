// The plane of a slice whose samples have places of their own. It is seen along the coordinate axis
// in which it is thinnest. The plane counts as many cells as the slice has points, but they stand
// for equal lengths.

import { state, mesh } from './store.js';
import { steady } from './box.js';
import { coordinateName, planeSize, sensible } from './field.js';
import { rasterize } from './quads.js';

/** Number of samples to ask for along each axis. The server sends at most 768. */
const SIDE = 512;

/**
 * The last whole slice: {key, box, at, image, grid}. `key` tells planes of fields apart, `at` is
 * the position of the slice.
 */
let overview = null;

const keyOf = (of) => JSON.stringify([state.regionName, of.name, of.shape.length, state.plane]);

/** Returns the position of a slice with these indices. */
const across = (at) => String(at?.filter((_, axis) => !state.plane.includes(axis)));

/** Returns true if the grid has the corners of the samples of the image. */
export const fits = (grid, image) =>
  Boolean(grid && image && grid.rows === image.rows + 1 && grid.cols === image.cols + 1);

/** Remembers the places of a slice, if all of it is shown. */
export function noteGrid(of, image, grid) {
  if (!fits(grid, image) || !grid.low) return;
  const key = keyOf(of);
  const [[top, bottom], [left, right]] = image.window;
  const { rows, cols } = planeSize(of, state.plane);
  if (top > 0 || left > 0 || bottom < rows || right < cols) return;
  const before = overview?.key === key ? overview.box : null;
  const at = across(image.request?.slice?.at);
  overview = { key, at, image, grid, box: steady(before, grid) };
}

/** Returns the two coordinate axes that go up and to the right (0: x), with their ends. */
export function flat(of) {
  if (overview?.key !== keyOf(of)) return null;
  // The box may have grown across the slice, which has moved or has been at other positions.
  const lengths = overview.grid.high.map((h, axis) => h - overview.grid.low[axis]);
  const thin = [2, 1, 0].reduce((a, b) => (lengths[b] < lengths[a] ? b : a));
  const [right, up] = [0, 1, 2].filter((axis) => axis !== thin);
  const { low, high } = overview.box;
  const ends = (axis) => ({ axis, low: low[axis], length: high[axis] - low[axis] || 1 });
  return { up: ends(up), right: ends(right) };
}

/** Returns the plane with the height of its cells over their width. */
export function placedPlane(of) {
  const size = planeSize(of, state.plane);
  const ends = flat(of);
  if (!ends) return { ...size, aspect: 1 };
  const cell = (ends.up.length / size.rows) / (ends.right.length / size.cols);
  return { ...size, aspect: sensible(cell, size.rows, size.cols) };
}

/** Returns the axis of a panel: its name, and the mapping between coordinates and places. */
export function placedAxis(of, side) {
  const ends = flat(of)?.[side];
  const { rows, cols } = planeSize(of, state.plane);
  const count = side === 'up' ? rows : cols;
  if (!ends) return { name: '', coordinate: (p) => p, place: (x) => x };
  return {
    name: coordinateName(mesh(), ends.axis),
    coordinate: (p) => ends.low + (p / count) * ends.length,
    place: (x) => ((x - ends.low) / ends.length) * count,
  };
}

/**
 * Returns the samples to ask for: all, or those that are visible.
 * @param {{rows: number[], cols: number[]}|null} map what is visible, see viewport.js
 */
export function placedPart(of, map) {
  const { rows, cols } = planeSize(of, state.plane);
  const all = { rows: [0, rows], cols: [0, cols], pixels: [SIDE, SIDE] };
  if (!map || !state.window || overview?.key !== keyOf(of)) return all;
  if (overview.at !== across(state.at)) return all;
  const { image, grid } = overview;
  const [x, y] = [placedAxis(of, 'right'), placedAxis(of, 'up')];
  const { up, right } = flat(of);
  const seen = { rows: [Infinity, -1], cols: [Infinity, -1] };
  for (let i = 0; i < grid.rows * grid.cols; i += 1) {
    const col = x.place(grid.origin[right.axis] + grid.corners[3 * i + right.axis]);
    const row = y.place(grid.origin[up.axis] + grid.corners[3 * i + up.axis]);
    const visible = col >= map.cols[0] && col <= map.cols[1] && row >= map.rows[0]
      && row <= map.rows[1];
    if (visible) {
      const [r, c] = [Math.floor(i / grid.cols), i % grid.cols];
      seen.rows = [Math.min(seen.rows[0], r), Math.max(seen.rows[1], r)];
      seen.cols = [Math.min(seen.cols[0], c), Math.max(seen.cols[1], c)];
    }
  }
  // No corner is visible if a sample is larger than the screen.
  if (seen.rows[1] < 0) return all;
  const part = ([first, last], block, count) =>
    [Math.max(0, (first - 1) * block), Math.min(count, (last + 1) * block)];
  return {
    rows: part(seen.rows, image.block[0], rows),
    cols: part(seen.cols, image.block[1], cols),
    pixels: [SIDE, SIDE],
  };
}

/**
 * Returns the number of the sample at each pixel of a panel's box: {numbers, width, height}.
 * @param {object} panel grid; map: see viewport.js; xAxis, yAxis
 */
export function picks({ grid, map, xAxis, yAxis, ends }) {
  const { box } = map;
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  const count = grid.rows * grid.cols;
  const [xs, ys] = [new Float64Array(count), new Float64Array(count)];
  for (let i = 0; i < count; i += 1) {
    const at = (axis) => grid.origin[axis] + grid.corners[3 * i + axis];
    xs[i] = map.x(xAxis.place(at(ends.right.axis))) - box.x;
    ys[i] = map.y(yAxis.place(at(ends.up.axis))) - box.y;
  }
  return { numbers: rasterize(grid, xs, ys, width, height), width, height, xs, ys };
}

/** Returns the middle of the sample that has a row and a column of the plane, in pixels. */
export function middleOf({ picks: drawn, image, grid, map }, row, col) {
  const [[top], [left]] = image.window;
  const [r, c] = [
    Math.floor((row - top) / image.block[0]),
    Math.floor((col - left) / image.block[1]),
  ];
  if (r < 0 || c < 0 || r >= image.rows || c >= image.cols) return null;
  const first = r * grid.cols + c;
  const corners = [first, first + 1, first + grid.cols, first + grid.cols + 1];
  const mean = (places) => corners.reduce((sum, i) => sum + places[i] / 4, 0);
  return [map.box.x + mean(drawn.xs), map.box.y + mean(drawn.ys)];
}
