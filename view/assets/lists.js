// The lists of regions and fields.

import { state, set, on, field, fields } from './store.js';
import { byId, make, refill } from './dom.js';
import { planes, shapeText, typeText, unitOf, viewOf } from './field.js';
import { blocksText } from './wholes.js';
import { tell } from './status.js';

const EVERY = 4000;

/**
 * Sets up the lists.
 * @param {(name: string) => void} choose shows another region
 * @param {() => void} ask asks the server which regions there are
 */
export function setUpLists(choose, ask) {
  on(['regions', 'regionName', 'region'], () => showRegions(choose));
  on(['region', 'fieldName'], showFields);
  on(['region'], keepField);
  setInterval(() => document.hidden || ask(), EVERY);
}

function showRegions(choose) {
  // The page knows the state of the region that it shows sooner than the list.
  const own = state.region ? { name: state.regionName, state: state.region.state } : null;
  const listed = state.regions.map((region) => (region.name === own?.name ? own : region));
  const regions = own && !listed.includes(own) ? [own, ...listed] : listed;
  refill(byId('regions'), JSON.stringify([regions, state.regionName]), () =>
    regions.map(({ name, state: how }) => {
      const label = make('span', { className: 'name', textContent: name });
      return entry(name === state.regionName, () => choose(name), label, pill(how));
    }));
}

export function pill(how) {
  const element = make('span', { className: 'pill', textContent: how });
  element.dataset.state = how;
  return element;
}

function entry(chosen, onclick, ...children) {
  const button = make('button', { type: 'button', onclick }, ...children);
  button.setAttribute('aria-pressed', String(chosen));
  return make('li', {}, button);
}

function showFields() {
  const all = fields();
  const key = JSON.stringify([all, state.fieldName]);
  refill(byId('fields'), key, () => all.map((f) => {
    const item = entry(f.name === state.fieldName, () => chooseField(f),
      make('span', { className: 'name', textContent: f.label ?? f.name }),
      make('span', { className: 'detail', textContent: detail(f), title: f.mesh_error ?? '' }));
    item.firstChild.disabled = f.raw;
    return item;
  }));
}

/** Returns what the list says of a field. */
function detail(f) {
  if (f.raw) return 'raw bytes';
  const unit = unitOf(f) && ` · ${unitOf(f)}`;
  if (f.blocks) return `${typeText(f)}${unit} · of ${f.whole} · ${blocksText(f)}`;
  const on = f.mesh ? ` · ${f.mesh_kind === 'particles' ? 'of' : 'on'} ${f.mesh}` : '';
  const mesh = f.mesh_error ? ' · mesh ignored' : on;
  return `${typeText(f)} · ${shapeText(f)}${unit}${mesh}`;
}

/**
 * Chooses a field and a place in it, if the chosen ones do not exist (any more), as in a new run.
 */
function keepField() {
  const of = field();
  const inside = (index) =>
    index.length === of.shape.length && index.every((i, axis) => i < of.shape[axis]);
  if (of && state.at.length === of.shape.length && of.capacity !== null) {
    keepPlace(of, inside);
    return;
  }
  if (of && inside(state.at) && (!state.pin || inside(state.pin))) {
    set({ view: viewOf(of, state.view) });
    return;
  }
  const first = of ?? fields().find((f) => !f.raw);
  if (!first) return;
  if (state.fieldName && !of) {
    tell(`There is no field “${state.fieldName}” any more; this is “${first.name}”.`);
  }
  set({ ...start(first), fieldName: first.name, component: null, hover: null });
}

/**
 * Keeps the place in a field whose length has changed. What is not there any more is not chosen any
 * more.
 */
function keepPlace(of, inside) {
  const at = state.at.map((i, axis) => Math.max(0, Math.min(i, of.shape[axis] - 1)));
  const [row, col] = state.plane;
  const { window, pin, hover } = state;
  const visible = !window || (window.row <= of.shape[row] && window.col <= of.shape[col]);
  set({
    at: String(at) === String(state.at) ? state.at : at,
    window: visible || row === col ? window : null,
    pin: pin && inside(pin) ? pin : null,
    hover: hover && inside(hover) ? hover : null,
    view: viewOf(of, state.view),
  });
}

/** Chooses a field. The place stays if the shape is the same. */
export function chooseField(f) {
  const same = String(field()?.shape) === String(f.shape) && state.at.length === f.shape.length
    && field()?.mesh === f.mesh;
  const more = same ? { view: viewOf(f, state.view) } : start(f);
  set({ ...more, fieldName: f.name, component: null, hover: null });
}

/** Returns the state that shows the middle of a field's first plane. */
function start(f) {
  return {
    plane: planes(f)[0],
    at: f.shape.map((n) => n >> 1),
    window: null,
    pin: null,
    lineAxis: null,
    view: viewOf(f, state.view),
  };
}
