// Which part of a plane is seen, and where on the canvas. Places on the plane count cells: column c reaches from c to
// c + 1. Rows go up, as in ParaView.

/** The most that one cell may take of the canvas. */
const LARGEST_CELL = 0.25;
/** The server gives no more samples along an axis. */
const MOST_PIXELS = 4096;

/**
 * @typedef {{rows: number, cols: number, aspect: number}} Plane `aspect`: height of a cell over its width
 * @typedef {{col: number, row: number, zoom: number}} Window what is in the middle, and how much larger than the whole
 * @typedef {{x: number, y: number, width: number, height: number}} Rect in device pixels
 */

/**
 * From cells to pixels and back.
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

/** The cells that are seen, and the box that they fill. */
function visible(plane, rect, map) {
  const cols = [Math.max(0, map.col(rect.x)), Math.min(plane.cols, map.col(rect.x + rect.width))];
  const rows = [Math.max(0, map.row(rect.y + rect.height)), Math.min(plane.rows, map.row(rect.y))];
  const [x, y] = [map.x(cols[0]), map.y(rows[1])];
  const box = { x, y, width: map.x(cols[1]) - x, height: map.y(rows[0]) - y };
  return { cols, rows, box };
}

/** What to ask for: whole cells, and the samples that they have pixels for. */
export function wanted({ cols, rows, sx, sy }) {
  const whole = ([first, end], size) => {
    const from = Math.max(0, Math.floor(first + 1e-6));
    return [from, Math.max(from + 1, Math.ceil(end - 1e-6))].map((n) => Math.min(n, Math.max(size, 1)));
  };
  const [r, c] = [whole(rows, Infinity), whole(cols, Infinity)];
  const pixels = [[r, sy], [c, sx]].map(([[a, b], s]) => Math.max(1, Math.min(MOST_PIXELS, Math.round((b - a) * s))));
  return { rows: r, cols: c, pixels };
}

/** A window that is `factor` times as near, and has the same cell at (x, y). */
export function zoomed(plane, window, rect, factor, x, y) {
  const map = transform(plane, window, rect);
  const before = window ?? { col: plane.cols / 2, row: plane.rows / 2, zoom: 1 };
  const most = Math.max(1, LARGEST_CELL * Math.min(rect.width / map.fit, rect.height / (map.fit * plane.aspect)));
  const zoom = Math.min(most, before.zoom * factor);
  if (zoom <= 1) return null;
  const [col, row] = [map.col(x), map.row(y)];
  const ratio = before.zoom / zoom;
  const middle = { col: col + (before.col - col) * ratio, row: row + (before.row - row) * ratio, zoom };
  return held(plane, middle);
}

/** A window moved by so many pixels. */
export function panned(plane, window, rect, dx, dy) {
  if (!window) return null;
  const { sx, sy } = transform(plane, window, rect);
  return held(plane, { ...window, col: window.col - dx / sx, row: window.row + dy / sy });
}

/** The middle stays on the plane. */
function held(plane, window) {
  const clamp = (v, high) => Math.min(high, Math.max(0, v));
  return { ...window, col: clamp(window.col, plane.cols), row: clamp(window.row, plane.rows) };
}
