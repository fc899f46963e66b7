// The theme, dark or light: that of the system until the user chooses one.

import { state, set } from './store.js';

const STORED = 'tcasm-view-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

/** The colours for canvases. They are read from the style sheet once per theme. */
let colors = null;

export function setUpTheme() {
  system.addEventListener('change', () => show(chosen()));
  document.getElementById('theme').addEventListener('click', switchTheme);
  show(chosen());
}

function chosen() {
  const stored = localStorage.getItem(STORED);
  return stored === 'dark' || stored === 'light' ? stored : system.matches ? 'dark' : 'light';
}

export function switchTheme() {
  const theme = state.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem(STORED, theme);
  show(theme);
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
  colors = null;
  set({ theme });
}

/**
 * Returns the colours for canvases: {panel, text, dim, frame, grid, missing, hatch, invalid,
 * one, two, three, accent}.
 */
export function themeColors() {
  if (!colors) {
    const style = getComputedStyle(document.documentElement);
    const names = [
      'panel', 'text', 'dim', 'frame', 'grid', 'missing', 'hatch', 'invalid', 'one', 'two', 'three',
      'accent',
    ];
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    colors = Object.fromEntries(names.map((name) => [name, value(name)]));
  }
  return colors;
}
