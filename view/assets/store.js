// The state of the page in one object, and the listeners to its changes.

import { entries } from './wholes.js';

/** The state that determines what is shown. `shown` has the data of frames, see frames.js. */
export const state = {
  // Data from the server.
  /** "connecting" | "open" | "closed" | "refused" | "impostor", see connection.js. */
  link: 'connecting',
  /** The last message of type "region", or null. */
  region: null,
  /** [{name, state}] */
  regions: [],
  /** The data of the frames so far. */
  shown: null,
  // Choices of the user.
  regionName: null,
  fieldName: null,
  component: null,
  /** "slice" | "compare" | "volume" */
  view: 'slice',
  /** The axes that are rows and columns. */
  plane: [0, 0],
  /** The index along each axis; those of rows and columns are not used. */
  at: [],
  /** The part of the plane that is visible; null: all of it. See viewport.js. */
  window: null,
  colormap: 'viridis',
  /** "frame" | "grow" | "fixed" */
  rangeMode: 'frame',
  fixed: [0, 1],
  log: false,
  /** The version that the page is paused at; null: it follows the newest. */
  version: null,
  /** The version that others are compared with. */
  reference: null,
  /** The index under the pointer. */
  hover: null,
  /** The index that was clicked. */
  pin: null,
  lineAxis: null,
  logCounts: false,
  /** "mip" | "iso" */
  render: 'mip',
  /** The level of the isosurface: 0 to 1 between the ends of the range. */
  level: 0.5,
  theme: 'light',
};

/** @type {{keys: string[], listener: () => void}[]} */
const listeners = [];

/** Adds a listener. It is called after any of `keys` was set. */
export function on(keys, listener) {
  listeners.push({ keys, listener });
}

/** Sets some of the state. Each listener to a key whose value has changed is called once. */
export function set(changes) {
  const keys = Object.keys(changes).filter((key) => state[key] !== changes[key]);
  if (keys.length === 0) return;
  Object.assign(state, changes);
  for (const { keys: wanted, listener } of listeners) {
    if (wanted.some((key) => keys.includes(key))) listener();
  }
}

/** Returns the fields to choose from. Those on the blocks of a whole are one, see wholes.js. */
export const fields = () => entries(state.region);

/**
 * Returns the description of the chosen field, or undefined if there is none. Its origin and its
 * spacing are those of the version that is shown: the mesh may have moved since. Of a whole, the
 * number of cells is, too.
 */
export function field() {
  const newest = fields().find((f) => f.name === state.fieldName);
  const { axes, cells } = (newest && shownOfField()) || {};
  if (!axes) return newest;
  return newest.blocks ? { ...newest, ...axes, shape: cells } : { ...newest, ...axes };
}

/** Returns the named mesh of the chosen field, or undefined if it is on none. */
export function mesh() {
  return state.region?.meshes?.find((m) => m.name === field()?.mesh);
}

/**
 * Returns the point whose values are shown: the pinned one, else the one under the pointer, else
 * the middle of the slice.
 */
export function point() {
  const chosen = state.pin ?? state.hover;
  const shape = field()?.shape ?? [];
  if (chosen && chosen.length === shape.length) return chosen;
  return shape.map((n, axis) => (state.plane.includes(axis) ? n >> 1 : state.at[axis] ?? n >> 1));
}

/** Returns the data of the chosen field; null while only frames of another field have come. */
export function shownOfField() {
  return state.shown && state.shown.field === state.fieldName ? state.shown : null;
}

/** Returns the version on the screen, or null. */
export function version() {
  return state.shown?.version ?? null;
}
