// Axes, planes and coordinates of a field.

import { plain } from './dom.js';

/** Returns the name of an axis. */
export function axisName(field, axis) {
  return field.axes?.[axis] ?? `axis ${axis}`;
}

/** Returns a shape as text, slowest axis first. */
export const shapeText = (field) => field.shape.join(' × ') || 'one value';

/** Returns the type of the values, such as "float64 × 3". */
export function typeText(field) {
  const parts = field.components > 1 ? ` × ${field.components}` : '';
  return field.dtype + parts;
}

/**
 * Returns the unit to write behind a value, or '' for numbers without a dimension. The producer
 * chooses it, so it may have any characters.
 */
export const unitOf = (field) => (field.unit && field.unit !== '1' ? plain(field.unit) : '');

/** Returns true if a field is on particles or on an unstructured mesh, which have no slices. */
export const isScene = (field) => ['particles', 'unstructured'].includes(field?.mesh_kind);

/** Returns true if the samples of slices have places of their own: on a curved or uneven mesh. */
export const isPlaced = (field) =>
  ['rectilinear', 'curvilinear'].includes(field?.mesh_kind) && field.shape.length > 1;

/** Returns true if the 3-D view of a field shows points or surfaces, not a volume. */
export const hasPlaces = (field) => isScene(field) || isPlaced(field);

/**
 * Returns true if a field can be shown in a view. A volume needs three axes, a comparison at least
 * one. Several blocks are shown as slices only.
 */
export function hasView(field, view) {
  if (isScene(field)) return view === 'volume';
  if (field.blocks) return view === 'slice';
  if (view === 'volume') return field.shape.length === 3 || isPlaced(field);
  return view === 'slice' || field.shape.length > 0;
}

/** Returns the view that shows a field: the one that is chosen, if the field has it. */
export function viewOf(field, chosen) {
  if (hasView(field, chosen)) return chosen;
  return isScene(field) ? 'volume' : 'slice';
}

/** Returns the name of a coordinate axis (0: x) with the unit that the mesh has. */
export function coordinateName(mesh, axis) {
  const unit = mesh?.units?.[axis];
  return unit && unit !== '1' ? `${'xyz'[axis]} [${plain(unit)}]` : 'xyz'[axis];
}

/**
 * Returns all pairs of axes that can be rows and columns. The pair of the last two axes comes
 * first.
 */
export function planes(field) {
  const n = field.shape.length;
  if (n < 2) return [[0, 0]];
  const pairs = [];
  for (let row = n - 2; row >= 0; row -= 1) {
    for (let col = n - 1; col > row; col -= 1) pairs.push([row, col]);
  }
  return pairs;
}

/** Returns the name of a plane. For three axes this is the axis across the plane. */
export function planeName(field, [row, col]) {
  if (field.shape.length === 3) return axisName(field, 3 - row - col);
  return `${axisName(field, col)}–${axisName(field, row)}`;
}

/** Returns the axes that are neither rows nor columns. */
export function otherAxes(field, plane) {
  return field.shape.map((_, axis) => axis).filter((axis) => !plane.includes(axis));
}

/** Returns the number of rows and columns of a plane. */
export function planeSize(field, [row, col]) {
  return { rows: row === col ? 1 : field.shape[row], cols: field.shape[col] };
}

/**
 * Returns the height of a cell over its width, as drawn. Long thin fields are stretched, to be
 * visible.
 */
export function aspect(field, plane) {
  const [row, col] = plane;
  const { rows, cols } = planeSize(field, plane);
  const spacing = field.spacing;
  const cell = spacing && row !== col ? Math.abs(spacing[row] / spacing[col]) : 1;
  return sensible(cell, rows, cols);
}

/** Returns the height of a cell over its width, or another one if the plane would be too long. */
export function sensible(cell, rows, cols) {
  const whole = (rows * cell) / cols;
  if (Number.isFinite(whole) && whole > 1 / 8 && whole < 8) return cell;
  return ((whole > 1 ? 1.6 : 0.6) * cols) / rows;
}

/**
 * Returns the coordinate of a place on an axis. `place` counts cells from the field's edge; a
 * sample is in the middle of its cell.
 */
export function coordinate(field, axis, place) {
  if (!field.spacing || !field.origin) return place - 0.5;
  const shift = field.centering === 'cell' ? 0 : 0.5;
  return field.origin[axis] + (place - shift) * field.spacing[axis];
}

/** Returns the place of a coordinate: the inverse of `coordinate`. */
export function place(field, axis, x) {
  if (!field.spacing || !field.origin) return x + 0.5;
  const shift = field.centering === 'cell' ? 0 : 0.5;
  return (x - field.origin[axis]) / field.spacing[axis] + shift;
}

/** Returns true if the axes of a field have coordinates besides indices. */
export const hasMesh = (field) => Boolean(field.spacing && field.origin);

/** Returns an index as text, such as "[3, 10, 5]", with coordinates if there is a mesh. */
export function indexText(field, index, number) {
  const text = `[${index.join(', ')}]`;
  if (!hasMesh(field)) return text;
  const where = (i, axis) => number(coordinate(field, axis, i + 0.5));
  const named = index.map((i, axis) => `${axisName(field, axis)} = ${where(i, axis)}`);
  return `${text}  ${named.reverse().join(', ')}`;
}

/**
 * Returns the title of a component, such as "wind[1]", of a magnitude or of a modulus, such as
 * "|wind|".
 */
export function title(field, component) {
  const name = field.label ?? field.name;
  if (field.components <= 1) return field.complex ? `|${name}|` : name;
  return component === null ? `|${name}|` : `${name}[${component}]`;
}
