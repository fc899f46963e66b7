// Keeps the chosen place in a field of a whole when its cells change: because blocks have been
// refined, used anew or moved, or because another version is shown. The indices of the place change
// then, and its coordinates stay.

import { state, set, on, field } from './store.js';
import { coordinate, place } from './field.js';

/** The whole that was shown last, and its cells: {key, of}. `of` is null while it has none. */
let last = null;

export function setUpCells() {
  on(['region', 'shown', 'fieldName'], keepCells);
}

function keepCells() {
  const of = field();
  if (!of?.blocks) return;
  const key = JSON.stringify([state.regionName, of.name]);
  const before = last?.key === key ? last : null;
  if (!of.origin) {
    last = before ?? { key, of: null };
    return;
  }
  last = { key, of };
  if (!before || state.at.length !== of.shape.length) return;
  if (!before.of) set({ at: of.shape.map((n) => n >> 1), pin: null, hover: null, window: null });
  else if (cellsOf(before.of) !== cellsOf(of)) set(moved(before.of, of));
}

const cellsOf = ({ origin, spacing, shape }) => JSON.stringify([origin, spacing, shape]);

/** Returns the changes of the state. A point that is not there any more is not chosen any more. */
function moved(before, of) {
  const there = (axis, at) => place(of, axis, coordinate(before, axis, at));
  const indices = (index) => index.map((i, axis) => Math.floor(there(axis, i + 0.5)));
  const inside = (index) => index.every((i, axis) => i >= 0 && i < of.shape[axis]);
  const kept = (index) => (index && inside(indices(index)) ? indices(index) : null);
  const within = (i, axis) => Math.max(0, Math.min(of.shape[axis] - 1, i));
  const { at, pin, hover, window, plane: [row, col] } = state;
  const view = window && { ...window, row: there(row, window.row), col: there(col, window.col) };
  return { at: indices(at).map(within), pin: kept(pin), hover: kept(hover), window: view };
}
