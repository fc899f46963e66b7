// What the page knows and what the user chose, in one object, and who wants to hear of changes.

/** All that decides what is shown. Data of frames is in `shown`, see frames.js. */
export const state = {
  // What there is.
  /** "connecting" | "open" | "closed" | "refused" */
  link: 'connecting',
  /** The last message of type "region", or null. */
  region: null,
  /** [{name, state}] */
  regions: [],
  /** What frames.js has put together of the frames so far. */
  shown: null,
  // What the user chose.
  regionName: null,
  fieldName: null,
  component: null,
  /** "slice" | "compare" | "volume" */
  view: 'slice',
  /** Axes of rows and columns. */
  plane: [0, 0],
  /** The index along each axis; those of rows and columns do not count. */
  at: [],
  /** Part of the plane that is seen; null: all of it. See viewport.js. */
  window: null,
  colormap: 'viridis',
  /** "frame" | "grow" | "fixed" */
  rangeMode: 'frame',
  fixed: [0, 1],
  log: false,
  /** null: the newest, again and again. */
  version: null,
  /** The version that others are compared with. */
  reference: null,
  /** The index under the pointer, and the one that was clicked. */
  hover: null,
  pin: null,
  lineAxis: null,
  logCounts: false,
  /** "mip" | "iso" */
  render: 'mip',
  /** Of the isosurface: 0 to 1 between the ends of the range. */
  level: 0.5,
  theme: 'light',
};

/** @type {{keys: string[], listener: () => void}[]} */
const listeners = [];

/** Call `listener` after any of `keys` was set. */
export function on(keys, listener) {
  listeners.push({ keys, listener });
}

/** Set some of the state; who listens to any of these keys is called once, if a value is another. */
export function set(changes) {
  const keys = Object.keys(changes).filter((key) => state[key] !== changes[key]);
  if (keys.length === 0) return;
  Object.assign(state, changes);
  for (const { keys: wanted, listener } of listeners) {
    if (wanted.some((key) => keys.includes(key))) listener();
  }
}

/** The field that is looked at, as the region describes it; undefined if there is none. */
export function field() {
  return state.region?.fields.find((f) => f.name === state.fieldName);
}

/** The point whose values are shown: the pinned one, else that under the pointer, else the middle of the slice. */
export function point() {
  const chosen = state.pin ?? state.hover;
  const shape = field()?.shape ?? [];
  if (chosen && chosen.length === shape.length) return chosen;
  return shape.map((n, axis) => (state.plane.includes(axis) ? n >> 1 : state.at[axis] ?? n >> 1));
}

/** What is shown of the field that is looked at; null while only frames of another field have come. */
export function shownOfField() {
  return state.shown && state.shown.field === state.fieldName ? state.shown : null;
}

/** The version on the screen, or null. */
export function version() {
  return state.shown?.version ?? null;
}
