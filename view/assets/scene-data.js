// The contents of the 3-D view for a field on a mesh: points, a surface, or a slice in space.

import { state, mesh, shownOfField } from './store.js';
import { isScene } from './field.js';
import { fits } from './placed.js';
import { indexOfSample } from './slice-view.js';

/** The triangles of slices, by their number of corners: {rows, cols, corners}. */
let sheet = null;
const ofSample = (triangle) => triangle >> 1;
const ofTriangle = (triangle) => triangle;

/**
 * Returns what to draw, or null if there is nothing (yet).
 * @returns {{shape: object, origin: number[], box: object|null, values: Float32Array, base: number,
 *   min: number, max: number, positive: number, notFinite: number, indexOf: Function,
 *   note: string}|null} `shape`: see scene.js; `notFinite` is the number of values that are not
 *   finite; `indexOf` returns the index of the value at a point or triangle
 */
export function sceneData(of) {
  const shown = shownOfField();
  if (!shown || shown.empty) return null;
  return isScene(of) ? meshData(shown.scene) : sliceData(of, shown);
}

const boxOf = ({ low, high }) => (low && high ? { low, high } : null);

function meshData(scene) {
  if (!scene) return null;
  const { positions, triangles, numbers, cells, origin, values, base } = scene;
  const perCell = Boolean(triangles && cells);
  const indexOf = (point, triangle) => [perCell ? triangles.cells[triangle] : numbers[point]];
  const shape = {
    positions,
    corners: triangles?.corners ?? null,
    valueOf: perCell ? ofTriangle : null,
  };
  const { min, max, positive, not_finite: notFinite } = scene;
  const range = { min, max, positive, notFinite };
  return { shape, origin, box: boxOf(scene), values, base, ...range, indexOf, note: note(scene) };
}

/** Returns the numbers of points and triangles that are not shown, as text. */
export function note({ all, points, invalid_points: invalid, surface, cells }) {
  const what = cells ? 'cells' : mesh()?.kind === 'particles' ? 'particles' : 'points';
  let some = '';
  if (surface && surface.triangles < surface.of) {
    some = `coarser surface: ${surface.triangles} triangles for ${surface.of}`;
  } else if (!surface && points + invalid < all) some = `${points} of ${all} ${what}`;
  return [some, without(invalid, surface ? 'points' : what)].filter(Boolean).join(', ');
}

/** Returns the number of points that have no place, as text. */
const without = (count, what) => (count > 0 ? `${count} ${what} with invalid coordinates` : '');

/** Returns a slice in space. */
function sliceData(of, { image, grid }) {
  const chosen = String(image?.request?.slice?.axes) === String(state.plane);
  if (!chosen || !fits(grid, image)) return null;
  const { base, values, min, max, positive, notFinite } = image;
  const indexOf = (_, triangle) => {
    const sample = ofSample(triangle);
    return indexOfSample(state.at, image, [Math.floor(sample / image.cols), sample % image.cols]);
  };
  return {
    shape: { positions: grid.corners, corners: sheetOf(grid), valueOf: ofSample },
    origin: grid.origin,
    box: boxOf(grid),
    values,
    base,
    min,
    max,
    positive,
    notFinite,
    indexOf,
    note: without(grid.invalid_points, 'corners'),
  };
}

/** Returns two triangles for each sample. */
function sheetOf({ rows, cols }) {
  if (sheet?.rows === rows && sheet.cols === cols) return sheet.corners;
  const corners = new Uint32Array(6 * (rows - 1) * (cols - 1));
  let at = 0;
  for (let row = 0; row + 1 < rows; row += 1) {
    for (let col = 0; col + 1 < cols; col += 1) {
      const a = row * cols + col;
      corners.set([a, a + 1, a + cols + 1, a, a + cols + 1, a + cols], at);
      at += 6;
    }
  }
  sheet = { rows, cols, corners };
  return corners;
}
