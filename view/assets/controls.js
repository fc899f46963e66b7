// The toolbars: view, plane, position, component, colours, range.

import { state, set, on, field } from './store.js';
import { byId, make, options, press, refill } from './dom.js';
import {
  axisName, coordinate, hasMesh, hasPlaces, hasView, isScene, otherAxes, planeName, planes,
} from './field.js';
import { colormapNames } from './colors.js';
import { resetRange } from './range.js';
import { number } from './numbers.js';
import { drawn } from './slice-view.js';
import { sceneRange } from './scene-view.js';
import { volumeRange } from './volume-view.js';

export function setUpControls() {
  for (const button of document.querySelectorAll('[data-view]')) {
    button.onclick = () => chooseView(button.dataset.view);
  }
  for (const button of document.querySelectorAll('[data-render]')) {
    button.onclick = () => set({ render: button.dataset.render });
  }
  byId('colormap').onchange = (event) => set({ colormap: event.target.value });
  byId('component').onchange = ({ target }) =>
    set({ component: target.value === '' ? null : Number(target.value) });
  byId('log').onchange = (event) => set({ log: event.target.checked });
  byId('level').oninput = (event) => set({ level: Number(event.target.value) });
  byId('reference').onchange = (event) => set({ reference: Number(event.target.value) });
  byId('unpin').onclick = () => set({ pin: null });
  byId('range-mode').onchange = (event) => chooseRange(event.target.value);
  for (const id of ['range-low', 'range-high']) byId(id).onchange = fixRange;
  on(
    ['view', 'render', 'region', 'fieldName', 'plane', 'at', 'component', 'lineAxis', 'pin'],
    showControls,
  );
  on(['colormap', 'log', 'rangeMode', 'level'], showControls);
  on(['region', 'reference', 'version', 'view', 'shown'], showReferences);
}

/**
 * Chooses a view. When a comparison begins without a reference, the version on the screen becomes
 * the reference.
 */
export function chooseView(view) {
  const of = field();
  if (!of || !hasView(of, view)) return;
  const begins = view === 'compare' && state.reference === null;
  const more = begins ? { reference: state.shown?.version?.version ?? null } : {};
  set({ view, hover: null, ...more });
}

function chooseRange(rangeMode) {
  const range = shownRange();
  const fixed = rangeMode === 'fixed' && range ? [range.low, range.high] : state.fixed;
  resetRange();
  set({ rangeMode, fixed });
}

/**
 * Fixes the range at the numbers that were typed. Ignores them if they are not numbers in ascending
 * order.
 */
function fixRange() {
  const fixed = ['range-low', 'range-high'].map((id) => Number(byId(id).value.replace(',', '.')));
  const valid = fixed.every(Number.isFinite) && fixed[0] < fixed[1];
  for (const id of ['range-low', 'range-high']) {
    byId(id).setAttribute('aria-invalid', String(!valid));
  }
  if (valid) set({ rangeMode: 'fixed', fixed });
}

/** Returns the range that is drawn. */
function shownRange() {
  if (state.view !== 'volume') return drawn().find(({ role }) => role !== 'difference')?.range;
  return hasPlaces(field()) ? sceneRange() : volumeRange();
}

/** Shows the ends of the range that is drawn, except in an input that has the focus. */
export function showRange() {
  const range = shownRange();
  if (!range) return;
  for (const [id, value] of [['range-low', range.low], ['range-high', range.high]]) {
    const input = byId(id);
    if (document.activeElement === input) continue;
    input.value = number(value, 5);
    input.setAttribute('aria-invalid', 'false');
  }
}

export function showControls() {
  const of = field();
  press(document.querySelectorAll('[data-view]'), (b) => b.dataset.view === state.view);
  press(document.querySelectorAll('[data-render]'), (b) => b.dataset.render === state.render);
  for (const view of ['slice', 'compare', 'volume']) {
    document.querySelector(`[data-view=${view}]`).disabled = !of || !hasView(of, view);
  }
  const volume = state.view === 'volume' && !hasPlaces(of);
  byId('plane-controls').hidden = volume || isScene(of);
  byId('volume-controls').hidden = !volume;
  byId('level-label').hidden = state.render !== 'iso';
  byId('level').value = state.level;
  options(byId('colormap'), colormapNames().map((name) => [name, name]), state.colormap);
  byId('range-mode').value = state.rangeMode;
  byId('log').checked = state.log;
  byId('unpin').hidden = !state.pin;
  byId('blocks-note').hidden = !of?.blocks;
  if (!of) return;
  showPlanes(of);
  showPositions(of);
  showComponents(of);
  showLineAxes(of);
}

/** Shows one button for each plane. */
function showPlanes(of) {
  const all = of.shape.length > 2 ? planes(of) : [];
  byId('planes').hidden = all.length === 0;
  refill(byId('planes'), JSON.stringify([of.name, all, of.axes]), () => all.map((plane) => {
    const button = make('button', {
      type: 'button',
      textContent: planeName(of, plane),
      onclick: () => choosePlane(plane),
    });
    button.dataset.plane = String(plane);
    return button;
  }));
  press(byId('planes').children, (b) => b.dataset.plane === String(state.plane));
}

export function choosePlane(plane) {
  set({ plane, window: null, hover: null, lineAxis: null });
}

/** Shows a slider for each axis across the plane. */
function showPositions(of) {
  const axes = otherAxes(of, state.plane);
  refill(byId('positions'), JSON.stringify([of.name, of.shape, axes]), () =>
    axes.map((axis) => slider(of, axis)));
  for (const axis of axes) {
    const input = byId('positions').querySelector(`[data-axis="${axis}"]`);
    input.value = state.at[axis];
    const where = hasMesh(of) ? ` (${number(coordinate(of, axis, state.at[axis] + 0.5), 4)})` : '';
    input.nextElementSibling.textContent = `${state.at[axis]}${where}`;
  }
}

function slider(of, axis) {
  const input = make('input', { type: 'range', min: 0, max: of.shape[axis] - 1, step: 1 });
  input.dataset.axis = axis;
  input.oninput = () => moveSlice(axis, Number(input.value) - state.at[axis]);
  const output = make('output', { className: 'number' });
  return make('label', {}, `${axisName(of, axis)} `, input, output);
}

/** Moves the slice along an axis. A pinned point moves with it. */
export function moveSlice(axis, by) {
  const of = field();
  if (!of || axis === undefined) return;
  const place = Math.max(0, Math.min(of.shape[axis] - 1, state.at[axis] + by));
  const moved = (index) => index.map((i, a) => (a === axis ? place : i));
  set({ at: moved(state.at), pin: state.pin && moved(state.pin) });
}

function showComponents(of) {
  byId('component-label').hidden = of.components <= 1;
  const names = of.components === 3
    ? ['x', 'y', 'z']
    : Array.from({ length: of.components }, (_, i) => String(i));
  const entries = [['', 'magnitude'], ...names.map((name, i) => [String(i), name])];
  options(byId('component'), entries, state.component === null ? '' : String(state.component));
}

/** Shows one button for each axis that the line can be parallel to. */
function showLineAxes(of) {
  const has = of.shape.length > 1 && !of.blocks;
  const axes = has ? of.shape.map((_, axis) => axis).reverse() : [];
  refill(byId('line-axes'), JSON.stringify([of.name, axes, of.axes]), () => axes.map((axis) => {
    const button = make('button', {
      type: 'button',
      textContent: axisName(of, axis),
      onclick: () => set({ lineAxis: axis }),
    });
    button.dataset.axis = axis;
    return button;
  }));
  const chosen = state.lineAxis ?? state.plane[1];
  press(byId('line-axes').children, (b) => Number(b.dataset.axis) === chosen);
}

function showReferences() {
  byId('reference-label').hidden = state.view !== 'compare';
  if (state.view !== 'compare') return;
  const shown = state.shown?.version?.version;
  const known = [...(state.region?.versions ?? []), state.reference, shown];
  const all = new Set(known.filter((v) => v != null));
  const entries = [...all].sort((a, b) => a - b).map((v) => [String(v), `version ${v}`]);
  if (document.activeElement !== byId('reference')) {
    options(byId('reference'), entries, String(state.reference));
  }
}
