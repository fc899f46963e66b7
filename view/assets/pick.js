// Finds what is under the pointer in space.

import { FOCAL, frame } from './camera.js';

/** Distance at which a point is found, in CSS pixels. */
const REACH = 8;

/**
 * Returns the point or the triangle at a place on the canvas: {point, triangle}, or null. Of a
 * triangle, `point` is its nearest corner.
 * @param {{positions: Float32Array, corners: Uint32Array|null}} shape see scene.js
 * @param {{camera: object, centre: number[], scale: number, size: number, width: number, height:
 *   number}} view see scene.js
 */
export function pick(shape, view, x, y) {
  const places = project(shape.positions, view);
  return shape.corners ? triangleAt(shape.corners, places, x, y) : pointAt(places, view.size, x, y);
}

/** Returns the place of each point on the canvas, and its distance from the eye. */
export function project(positions, { camera, centre, scale, width, height }) {
  const { right, up, back, eye } = frame(camera);
  const count = positions.length / 3;
  const [xs, ys, depths] = [0, 1, 2].map(() => new Float32Array(count));
  const pixels = (Math.min(width, height) / 2) * FOCAL;
  for (let i = 0; i < count; i += 1) {
    const dx = (positions[3 * i] - centre[0]) * scale - eye[0];
    const dy = (positions[3 * i + 1] - centre[1]) * scale - eye[1];
    const dz = (positions[3 * i + 2] - centre[2]) * scale - eye[2];
    const depth = -(dx * back[0] + dy * back[1] + dz * back[2]);
    depths[i] = depth > 0 ? depth : NaN;
    xs[i] = width / 2 + ((dx * right[0] + dy * right[1] + dz * right[2]) / depth) * pixels;
    ys[i] = height / 2 - ((dx * up[0] + dy * up[1] + dz * up[2]) / depth) * pixels;
  }
  return { xs, ys, depths };
}

/** Returns the foremost point whose disc is there, else the nearest one within reach. */
function pointAt({ xs, ys, depths }, size, x, y) {
  const reach = Math.max(size / 2, REACH * devicePixelRatio);
  let [best, least] = [-1, Infinity];
  for (let i = 0; i < xs.length; i += 1) {
    const away = Math.hypot(xs[i] - x, ys[i] - y);
    if (away > reach || Number.isNaN(depths[i])) continue;
    // Any point whose disc is there comes before all others.
    const rank = away <= size / 2 ? depths[i] - 1e6 : away;
    if (rank < least) [best, least] = [i, rank];
  }
  return best < 0 ? null : { point: best, triangle: -1 };
}

/** Returns the foremost triangle that has the place. */
function triangleAt(corners, { xs, ys, depths }, x, y) {
  let [best, least] = [-1, Infinity];
  for (let t = 0; 3 * t < corners.length; t += 1) {
    const parts = partsOf(corners, t, xs, ys, x, y);
    if (!parts) continue;
    const depth = parts.reduce((sum, part, i) => sum + part * depths[corners[3 * t + i]], 0);
    if (depth < least) [best, least] = [t, depth];
  }
  if (best < 0) return null;
  const parts = partsOf(corners, best, xs, ys, x, y);
  const nearest = parts.indexOf(Math.max(...parts));
  return { point: corners[3 * best + nearest], triangle: best };
}

/** Returns the parts of the corners at a place in a triangle; null if the place is not in it. */
function partsOf(corners, t, xs, ys, x, y) {
  const [a, b, c] = [corners[3 * t], corners[3 * t + 1], corners[3 * t + 2]];
  const area = cross(xs, ys, a, b, xs[c], ys[c]);
  const first = cross(xs, ys, b, c, x, y) / area;
  if (!(first >= 0)) return null;
  const second = cross(xs, ys, c, a, x, y) / area;
  if (!(second >= 0)) return null;
  const third = cross(xs, ys, a, b, x, y) / area;
  return third >= 0 ? [first, second, third] : null;
}

/** Returns twice the area of the triangle between two points and a place. */
const cross = (xs, ys, i, j, x, y) =>
  (xs[j] - xs[i]) * (y - ys[i]) - (ys[j] - ys[i]) * (x - xs[i]);
