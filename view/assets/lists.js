// The lists of regions and fields.

import { state, set, on, field } from './store.js';
import { byId, make, refill } from './dom.js';
import { hasView, planes, shapeText, typeText, unitOf } from './field.js';
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
  const fields = state.region?.fields ?? [];
  const key = JSON.stringify([fields, state.fieldName]);
  refill(byId('fields'), key, () => fields.map((f) => {
    const unit = unitOf(f) && ` · ${unitOf(f)}`;
    const mesh = f.mesh_error ? ' · mesh ignored' : '';
    const detail = f.raw ? 'raw bytes' : `${typeText(f)} · ${shapeText(f)}${unit}${mesh}`;
    const item = entry(f.name === state.fieldName, () => chooseField(f),
      make('span', { className: 'name', textContent: f.name }),
      make('span', { className: 'detail', textContent: detail, title: f.mesh_error ?? '' }));
    item.firstChild.disabled = f.raw;
    return item;
  }));
}

/**
 * Chooses a field and a place in it, if the chosen ones do not exist (any more), as in a new run.
 */
function keepField() {
  const of = field();
  const inside = (index) =>
    index.length === of.shape.length && index.every((i, axis) => i < of.shape[axis]);
  if (of && inside(state.at) && (!state.pin || inside(state.pin))) return;
  const first = of ?? (state.region?.fields ?? []).find((f) => !f.raw);
  if (!first) return;
  if (state.fieldName && !of) {
    tell(`There is no field “${state.fieldName}” any more; this is “${first.name}”.`);
  }
  set({ ...start(first), fieldName: first.name, component: null, hover: null });
}

/** Chooses a field. The place stays if the shape is the same. */
export function chooseField(f) {
  const same = String(field()?.shape) === String(f.shape) && state.at.length === f.shape.length;
  set({ ...(same ? {} : start(f)), fieldName: f.name, component: null, hover: null });
}

/** Returns the state that shows the middle of a field's first plane. */
function start(f) {
  return {
    plane: planes(f)[0],
    at: f.shape.map((n) => n >> 1),
    window: null,
    pin: null,
    lineAxis: null,
    view: hasView(f, state.view) ? state.view : 'slice',
  };
}
