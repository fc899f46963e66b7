// The part of a plane that is visible, and its place on the canvas. Places on the plane count
// cells: column c reaches from c to c + 1. Rows go up, as in ParaView.

/** The greatest fraction of the canvas that one cell may take. */
const LARGEST_CELL = 0.25;
/** Maximum number of samples along an axis that the server sends. */
const MOST_PIXELS = 4096;

/**
 * @typedef {{rows: number, cols: number, aspect: number}} Plane `aspect`: height of a cell over its
 *   width
 * @typedef {{col: number, row: number, zoom: number}} Window the place in the middle, and the zoom
 *   over the whole plane
 * @typedef {{x: number, y: number, width: number, height: number}} Rect in device pixels
 */

/**
 * Returns the mapping from cells to pixels and back.
 * @param {Plane} plane
 * @param {Window|null} window null: all of it
 * @param {Rect} rect
 */
export function transform(plane, window, rect) {
  const fit = Math.min(rect.width / plane.cols, rect.height / (plane.rows * plane.aspect));
  const scale = fit * (window?.zoom ?? 1);
  const [sx, sy] = [scale, scale * plane.aspect];
  const middle = window ?? { col: plane.cols / 2, row: plane.rows / 2 };
  const [mx, my] = [rect.x + rect.width / 2, rect.y + rect.height / 2];
  const map = {
    sx,
    sy,
    x: (col) => mx + (col - middle.col) * sx,
    y: (row) => my - (row - middle.row) * sy,
    col: (x) => middle.col + (x - mx) / sx,
    row: (y) => middle.row - (y - my) / sy,
  };
  return { ...map, ...visible(plane, rect, map), fit };
}

/** Returns the cells that are visible, and the box that they fill. */
function visible(plane, rect, map) {
  const cols = [Math.max(0, map.col(rect.x)), Math.min(plane.cols, map.col(rect.x + rect.width))];
  const rows = [Math.max(0, map.row(rect.y + rect.height)), Math.min(plane.rows, map.row(rect.y))];
  const [x, y] = [map.x(cols[0]), map.y(rows[1])];
  const box = { x, y, width: map.x(cols[1]) - x, height: map.y(rows[0]) - y };
  return { cols, rows, box };
}

/**
 * Returns the window to ask for, in whole cells, and the number of samples that it has pixels for.
 */
export function wanted({ cols, rows, sx, sy }) {
  const whole = ([first, end], size) => {
    const from = Math.max(0, Math.floor(first + 1e-6));
    const ends = [from, Math.max(from + 1, Math.ceil(end - 1e-6))];
    return ends.map((n) => Math.min(n, Math.max(size, 1)));
  };
  const [r, c] = [whole(rows, Infinity), whole(cols, Infinity)];
  const samples = ([a, b], s) => Math.max(1, Math.min(MOST_PIXELS, Math.round((b - a) * s)));
  const pixels = [samples(r, sy), samples(c, sx)];
  return { rows: r, cols: c, pixels };
}

/** Returns a window with `factor` times the zoom that has the same cell at (x, y). */
export function zoomed(plane, window, rect, factor, x, y) {
  const map = transform(plane, window, rect);
  const before = window ?? { col: plane.cols / 2, row: plane.rows / 2, zoom: 1 };
  const shorter = Math.min(rect.width / map.fit, rect.height / (map.fit * plane.aspect));
  const most = Math.max(1, LARGEST_CELL * shorter);
  const zoom = Math.min(most, before.zoom * factor);
  if (zoom <= 1) return null;
  const [col, row] = [map.col(x), map.row(y)];
  const ratio = before.zoom / zoom;
  const middle = {
    col: col + (before.col - col) * ratio,
    row: row + (before.row - row) * ratio,
    zoom,
  };
  return held(plane, middle);
}

/** Returns a window that is moved by (dx, dy) pixels. */
export function panned(plane, window, rect, dx, dy) {
  if (!window) return null;
  const { sx, sy } = transform(plane, window, rect);
  return held(plane, { ...window, col: window.col - dx / sx, row: window.row + dy / sy });
}

/** Returns a window whose middle is on the plane. */
function held(plane, window) {
  const clamp = (v, high) => Math.min(high, Math.max(0, v));
  return { ...window, col: clamp(window.col, plane.cols), row: clamp(window.row, plane.rows) };
}
