// Charts of uPlot with the colours and fonts of this page.

import uPlot from './vendor/uplot/dist/uPlot.esm.js';
import { on } from './store.js';
import { number, tickLabels } from './numbers.js';
import { themeColors } from './theme.js';

const FONT = '10px system-ui, sans-serif';

/** Returns a function that reads a colour of the theme when a chart is drawn. */
export const ink = (name) => () => themeColors()[name];

/** The same, in a light shade for areas. */
export const wash = (name) => () => `color-mix(in srgb, ${themeColors()[name]} 22%, transparent)`;

/** Returns the ends of a scale. They differ even if all values are the same. */
export function padded(_, low, high) {
  if (low === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const pad = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.05 || 0.5;
  return [low - pad, high + pad];
}

const axis = (extra) => ({
  stroke: ink('dim'),
  font: FONT,
  grid: { stroke: ink('grid'), width: 1 },
  ticks: { stroke: ink('grid'), width: 1, size: 4 },
  gap: 3,
  values: (_, marks) => tickLabels(marks),
  ...extra,
});

export const xAxis = (extra) => axis({ size: 22, space: 55, ...extra });
export const yAxis = (extra) => axis({ size: 52, space: 28, ...extra });

/**
 * Makes a chart that fills its element.
 * @param {HTMLElement} element
 * @param {object} options of uPlot, without size
 */
export function chart(element, options) {
  const size = () => ({
    width: Math.max(60, element.clientWidth),
    height: Math.max(60, element.clientHeight),
  });
  const plot = new uPlot({
    ...size(),
    legend: { show: false },
    cursor: { drag: { setScale: false }, y: false, points: { size: 5 } },
    padding: [8, 16, 0, 0],
    ...options,
  }, options.series.map(() => []), element);
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(element);
  on(['theme'], () => plot.redraw(false));
  return plot;
}

/** Returns the values under the cursor of a chart, as text for its note. */
export function underCursor(plot, names) {
  const i = plot.cursor.idx;
  if (i === null || i === undefined) return '';
  const texts = names.map((name, s) => name && `${name} ${number(plot.data[s][i], 5)}`);
  return texts.filter(Boolean).join('  ');
}

export const bars = uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 0 });
