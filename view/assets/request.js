// The view request that follows from the state.

import { state, field, point, version } from './store.js';
import { hasPlaces, isPlaced, isScene } from './field.js';

/** Maximum number of samples of a volume along an axis. */
const VOLUME = 96;
/** Maximum number of points of a scene. */
const POINTS = 100000;
const BINS = 64;

let next = 1;

/**
 * Returns the message that asks for all that the page shows; null while there is no field to show.
 * @param {{rows: number[], cols: number[], pixels: number[]}|null} plane the part of the plane that
 *   is on the screen
 */
export function request(plane) {
  const of = field();
  if (!of || of.raw) return null;
  const here = point();
  const axis = state.lineAxis ?? state.plane[1];
  return {
    type: 'view',
    id: next++,
    field: of.name,
    axes: of.blocks && of.origin ? { origin: of.origin, spacing: of.spacing } : null,
    component: state.component,
    version: state.version,
    compare: state.view === 'compare' ? state.reference : null,
    slice: !plane || (state.view === 'volume' && !isPlaced(of)) ? null : slice(plane),
    line: of.shape.length === 0 || of.blocks ? null : { axis, at: here },
    probe: here,
    histogram: BINS,
    volume: state.view === 'volume' && !hasPlaces(of) ? VOLUME : null,
    scene: isScene(of) ? { points: POINTS, surface: true } : null,
    pages: true,
  };
}

function slice({ rows, cols, pixels }) {
  return { axes: state.plane, at: state.at, rows, cols, pixels };
}

/** Returns true if two requests ask for the same. */
export function same(a, b) {
  if (!a || !b) return a === b;
  return JSON.stringify({ ...a, id: 0 }) === JSON.stringify({ ...b, id: 0 });
}

/** Returns true if the data that is shown answers the last request. */
export function upToDate(last) {
  return Boolean(last && state.shown?.id === last.id && version());
}
