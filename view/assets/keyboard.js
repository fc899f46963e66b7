// Keyboard shortcuts, and the dialog that lists them.

import { state, set, field } from './store.js';
import { byId, make } from './dom.js';
import { hasPlaces, otherAxes, planes } from './field.js';
import { choosePlane, chooseView, moveSlice } from './controls.js';
import { stepBy, toggleLive } from './timeline.js';
import { switchTheme } from './theme.js';
import { savePng } from './export.js';
import { shiftLevel } from './volume-view.js';

/**
 * Sets up the shortcuts.
 * @param {(factor: number|null) => void} zoom changes the zoom; null shows all
 */
export function setUpKeyboard(zoom) {
  const shortcuts = list(zoom);
  byId('shortcuts').append(...shortcuts.flatMap(({ keys, does }) => [
    make('dt', {}, ...keys.map((key) => make('kbd', { textContent: NAMES[key] ?? key }))),
    make('dd', { textContent: does }),
  ]));
  byId('help-open').onclick = () => byId('help').showModal();
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (byId('help').open || typing(event.target, event.key)) return;
    const shortcut = shortcuts.find(({ keys }) => keys.includes(event.key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run(event.key);
  });
}

const NAMES = {
  ' ': 'space',
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'esc',
};

/** Returns true if the control uses the key itself. */
function typing(target, key) {
  if (target.matches('input[type=range]')) return key.startsWith('Arrow');
  if (target.matches('button, summary')) return key === ' ';
  if (target.matches('input[type=checkbox]')) return key === ' ';
  return target.matches('input, select, textarea');
}

function list(zoom) {
  return [
    { keys: [' '], does: 'pause, or follow the newest version', run: toggleLive },
    {
      keys: ['ArrowLeft', 'ArrowRight'],
      does: 'one version back, or forward',
      run: (key) => stepBy(key === 'ArrowLeft' ? -1 : 1),
    },
    {
      keys: ['ArrowUp', 'ArrowDown'],
      does: 'move the slice; in the 3-D view, the level',
      run: (key) => move(key === 'ArrowUp' ? 1 : -1),
    },
    { keys: ['x', 'y', 'z'], does: 'the axis across the slice', run: chooseAxis },
    {
      keys: ['s', 'c', 'v'],
      does: 'slice, compare, 3-D view',
      run: (key) => chooseView({ s: 'slice', c: 'compare', v: 'volume' }[key]),
    },
    {
      keys: ['+', '-', '0'],
      does: 'zoom in, zoom out, show all',
      run: (key) => zoom({ '+': 1.5, '-': 1 / 1.5, 0: null }[key]),
    },
    { keys: ['l'], does: 'logarithmic colours', run: () => set({ log: !state.log }) },
    { keys: ['Escape'], does: 'unpin the point', run: () => set({ pin: null }) },
    { keys: ['p'], does: 'save the image', run: savePng },
    { keys: ['t'], does: 'dark or light', run: switchTheme },
    { keys: ['?'], does: 'this list', run: () => byId('help').showModal() },
  ];
}

function move(by) {
  if (state.view === 'volume' && !hasPlaces(field())) shiftLevel(by * 0.02);
  else if (field()) moveSlice(otherAxes(field(), state.plane)[0], by);
}

/** Chooses the plane across the axis of this name. */
function chooseAxis(name) {
  const of = field();
  if (of?.shape.length !== 3) return;
  const axis = of.axes?.indexOf(name) ?? -1;
  const plane = planes(of).find((pair) => !pair.includes(axis));
  if (axis >= 0 && plane) choosePlane(plane);
}
