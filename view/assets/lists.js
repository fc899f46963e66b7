// The lists of regions and fields.

import { state, set, on, field } from './store.js';
import { byId, make, refill } from './dom.js';
import { planes, shapeText, typeText } from './field.js';

const EVERY = 4000;

/** @param {(name: string) => void} choose another region */
export function setUpLists(choose) {
  on(['regions', 'regionName', 'region'], () => showRegions(choose));
  on(['region', 'fieldName'], showFields);
  on(['region'], keepField);
  setInterval(() => document.hidden || loadRegions(), EVERY);
}

/** Ask which regions there are. Without an answer the list stays: the banner says what is wrong. */
export async function loadRegions() {
  try {
    const answer = await fetch('/regions', { cache: 'no-store' });
    if (answer.status === 403) set({ link: 'refused' });
    if (answer.ok) set({ regions: await answer.json() });
  } catch {
    // The connection tells.
  }
}

function showRegions(choose) {
  // Of the region that is shown the page itself knows more, and sooner.
  const own = state.region ? { name: state.regionName, state: state.region.state } : null;
  const listed = state.regions.map((region) => (region.name === own?.name ? own : region));
  const regions = own && !listed.includes(own) ? [own, ...listed] : listed;
  refill(byId('regions'), JSON.stringify([regions, state.regionName]), () => regions.map(({ name, state: how }) =>
    entry(name === state.regionName, () => choose(name), make('span', { className: 'name', textContent: name }), pill(how))));
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
    const unit = f.unit ? ` · ${f.unit}` : '';
    const item = entry(f.name === state.fieldName, () => chooseField(f),
      make('span', { className: 'name', textContent: f.name }),
      make('span', { className: 'detail', textContent: f.raw ? 'raw bytes' : `${typeText(f)} · ${shapeText(f)}${unit}` }));
    item.firstChild.disabled = f.raw;
    return item;
  }));
}

/** The chosen field may be gone, or there may be none yet. */
function keepField() {
  const fields = state.region?.fields ?? [];
  const of = field();
  if (of && of.shape.length === state.at.length) return;
  const first = of ?? fields.find((f) => !f.raw);
  if (first) chooseField(first);
}

/** Look at this field: at the middle of its first plane, or as before where the shape is the same. */
export function chooseField(f) {
  const same = String(field()?.shape) === String(f.shape) && state.at.length === f.shape.length;
  const geometry = same ? {} : {
    plane: planes(f)[0],
    at: f.shape.map((n) => n >> 1),
    window: null,
    pin: null,
    lineAxis: null,
    view: state.view === 'volume' && f.shape.length !== 3 ? 'slice' : state.view,
  };
  set({ ...geometry, fieldName: f.name, component: null, hover: null });
}
