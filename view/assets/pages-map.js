// The map of pages that changed, in the order of memory, with the fields that lie there.

import { state } from './store.js';
import { number } from './numbers.js';
import { colormap } from './colors.js';
import { themeColors } from './theme.js';
import { fit, onResize } from './gestures.js';

const canvas = document.getElementById('pages');
const note = document.getElementById('pages-note');
/** Maximum number of rows of bins. */
const ROWS = 8;
const FIELD_COLORS = ['one', 'two', 'three', 'accent'];

export function setUpPages() {
  onResize(canvas, drawPages);
  canvas.addEventListener('pointermove', tell);
  canvas.addEventListener('pointerleave', drawPages);
}

/** Returns the layout of bins: rows, bins in each row (`across`), and the size of a bin. */
function grid(length) {
  const rows = Math.max(1, Math.min(ROWS, Math.ceil(length / 64)));
  const across = Math.ceil(length / rows);
  return { rows, across, width: canvas.width / across, height: canvas.height / rows };
}

export function drawPages() {
  const pages = state.shown?.pages;
  const ctx = canvas.getContext('2d');
  const theme = themeColors();
  fit(canvas);
  ctx.fillStyle = theme.grid;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  if (!pages || pages.length === 0) {
    note.textContent = '';
    return;
  }
  const layout = grid(pages.length);
  const colors = colormap('viridis');
  pages.values.forEach((share, bin) => {
    if (share === 0) return;
    const i = 3 * Math.round(70 + (share / 255) * 185);
    ctx.fillStyle = `rgb(${colors[i]} ${colors[i + 1]} ${colors[i + 2]})`;
    cell(ctx, layout, bin, bin + 1);
  });
  boundaries(ctx, layout, pages, theme);
  const share = pages.pages ? (100 * pages.changed) / pages.pages : 0;
  note.textContent = `${pages.changed} of ${pages.pages} (${number(share, 3)} %)`;
}

/** Fills the bins from `first` to `end`, which may be fractions, within a row. */
function cell(ctx, { across, width, height }, first, end, part = [0, 1]) {
  const row = Math.floor(first / across);
  const ends = [first - row * across, end - row * across];
  const [left, right] = ends.map((n) => Math.round(n * width));
  const [top, bottom] = part.map((t) => Math.round((row + t) * height));
  ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
}

/** Returns the range of bins of each field: `[{name, first, end, color}]`. */
export function fieldBins(region, pages) {
  return (region?.fields ?? []).map((f, i) => {
    const per = region.page_size * pages.pages_per_bin;
    const color = FIELD_COLORS[i % FIELD_COLORS.length];
    return { name: f.name, first: f.offset / per, end: (f.offset + f.bytes) / per, color };
  });
}

/** Draws a stripe along the bins of each field, and a mark where the field begins. */
function boundaries(ctx, layout, pages, theme) {
  const fields = fieldBins(state.region, pages);
  for (const { first, end, color } of fields) {
    ctx.fillStyle = theme[color];
    for (let from = first; from < end - 1e-9;) {
      const rowEnd = (Math.floor(from / layout.across + 1e-9) + 1) * layout.across;
      cell(ctx, layout, from, Math.min(end, rowEnd), [0.82, 0.98]);
      from = rowEnd;
    }
    cell(ctx, layout, first, first + 1 / layout.width);
  }
  legend(fields);
}

function legend(fields) {
  const target = document.getElementById('pages-legend');
  const text = JSON.stringify(fields);
  if (target.dataset.text === text) return;
  target.dataset.text = text;
  target.replaceChildren(...fields.map(({ name, color }) => {
    const item = document.createElement('span');
    item.className = `key ${color}`;
    item.textContent = name;
    return item;
  }));
}

/** Shows the pages and the field under the pointer. */
function tell(event) {
  const pages = state.shown?.pages;
  if (!pages) return;
  const { across, rows } = grid(pages.length);
  const rect = canvas.getBoundingClientRect();
  const row = Math.floor(((event.clientY - rect.top) / rect.height) * rows);
  const bin = row * across + Math.floor(((event.clientX - rect.left) / rect.width) * across);
  if (bin < 0 || bin >= pages.length) return;
  const of = fieldBins(state.region, pages).find(({ first, end }) => bin + 1 > first && bin < end);
  const first = bin * pages.pages_per_bin;
  const last = Math.min(first + pages.pages_per_bin, pages.pages) - 1;
  const range = pages.pages_per_bin > 1 ? `pages ${first}–${last}` : `page ${first}`;
  const share = Math.round((100 * pages.values[bin]) / 255);
  note.textContent = `${of?.name ?? 'no field'}, ${range}: ${share} % changed`;
}
