// Files to download: the image as PNG, values as CSV.

import { state, field, version } from './store.js';
import { byId } from './dom.js';
import { axisName, hasPlaces, title, unitOf } from './field.js';
import { drawn } from './slice-view.js';
import { lineData } from './plots.js';
import { series } from './series.js';
import { sceneLayers } from './scene-view.js';
import { volumeLayers } from './volume-view.js';
import { themeColors } from './theme.js';
import { number } from './numbers.js';

export function setUpExport() {
  const save = {
    'save-png': savePng,
    'save-slice': saveSlice,
    'save-line': saveLine,
    'save-series': saveSeries,
  };
  for (const [id, action] of Object.entries(save)) {
    byId(id).onclick = () => {
      byId('save').open = false;
      action();
    };
  }
  document.addEventListener('pointerdown', (event) => {
    if (!byId('save').contains(event.target)) byId('save').open = false;
  });
}

/** Returns the name of a file, such as "heat_u_v8.csv". */
function fileName(kind, ending) {
  const parts = [state.regionName, state.fieldName, kind, `v${version()?.version ?? 0}`];
  return `${parts.filter(Boolean).join('_').replace(/[^\w.-]+/g, '-')}.${ending}`;
}

function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Saves the image on the screen, with a caption. */
export function savePng() {
  const of = field();
  if (!of) return;
  const single = document.querySelector('#curve canvas');
  const curve = of.shape.length === 1 && state.view === 'slice';
  const inSpace = hasPlaces(of) ? sceneLayers() : volumeLayers();
  const layers = state.view === 'volume' ? inSpace : [curve ? single : byId('heat')];
  const [{ width, height }] = layers;
  const caption = Math.round(26 * devicePixelRatio);
  const size = { width, height: height + caption };
  const canvas = Object.assign(document.createElement('canvas'), size);
  const ctx = canvas.getContext('2d');
  const theme = themeColors();
  ctx.fillStyle = theme.panel;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  for (const layer of layers) ctx.drawImage(layer, 0, 0, width, height);
  ctx.fillStyle = theme.dim;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillText(captionOf(of), 12 * devicePixelRatio, height + 16 * devicePixelRatio);
  canvas.toBlob((blob) => download(blob, fileName('', 'png')), 'image/png');
}

function captionOf(of) {
  const parts = [state.regionName, title(of, state.component), stamp(), where(of)];
  return parts.filter(Boolean).join('  ·  ');
}

function stamp() {
  const v = version();
  return v ? `version ${v.version}, step ${v.step}, t = ${number(v.time, 10)}` : '';
}

/** Returns the position of the slice, such as "z = 32". */
function where(of) {
  const across = of.shape.map((_, axis) => axis).filter((axis) => !state.plane.includes(axis));
  if (state.view === 'volume' && !hasPlaces(of)) return '';
  return across.map((axis) => `${axisName(of, axis)} = ${state.at[axis]}`).join(', ');
}

function csv(lines, kind) {
  download(new Blob([`${lines.join('\n')}\n`], { type: 'text/csv' }), fileName(kind, 'csv'));
}

function header(of, ...more) {
  const unit = unitOf(of) ? ` in ${unitOf(of)}` : '';
  return [`# ${state.regionName}, ${title(of, state.component)}${unit}, ${stamp()}`, ...more];
}

/** Returns a value as text. A sample without a base is a 32-bit float and has 9 digits. */
const digits = (value, base) => (base === 0 ? String(Number(value.toPrecision(9))) : String(value));

/**
 * Returns the lines of a CSV file with the samples that are drawn. Each row of the plane is a line,
 * the first row first.
 */
export function sliceCsv() {
  const of = field();
  const image = drawn().find(({ role }) => role !== 'reference')?.image;
  if (!of || !image) return null;
  if (image.images) return [...header(of), ...image.images.flatMap((one) => blockCsv(of, one))];
  const { block, window } = image;
  const [row, col] = state.plane;
  const inRows = `rows: ${axisName(of, row)} from ${window[0][0]}`;
  const inColumns = `columns: ${axisName(of, col)} from ${window[1][0]}`;
  const about = `# ${inRows}, ${inColumns}; ${where(of)}`;
  return [...header(of, about, ...meansText(block)), ...rowsOf(image)];
}

const meansText = (block) => (block[0] * block[1] > 1
  ? [`# each value is the mean of ${block[0]} x ${block[1]}, NaN if one of them is not finite`]
  : []);

const rowsOf = ({ rows, cols, values, base }) => Array.from({ length: rows }, (_, r) =>
  Array.from(values.subarray(r * cols, (r + 1) * cols), (v) => digits(base + v, base)).join(','));

/** Returns the lines of one block of a whole, with the place of its first value. */
function blockCsv(of, image) {
  const { mesh, level, origin, spacing, window, block } = image;
  const [row, col] = state.plane;
  const side = (axis, [first]) =>
    `${axisName(of, axis)} from ${origin[axis] + first * spacing[axis]} by ${spacing[axis]}`;
  const about = `# ${mesh}, level ${level}; rows: ${side(row, window[0])}, `
    + `columns: ${side(col, window[1])}`;
  return [about, ...meansText(block), ...rowsOf(image)];
}

function saveSlice() {
  const lines = sliceCsv();
  if (lines) csv(lines, 'slice');
}

function saveLine() {
  const [of, data] = [field(), lineData()];
  if (!of || !data) return;
  const name = axisName(of, data.axis);
  const means = data.block > 1 ? `, means and extrema of ${data.block}` : '';
  const about = `# along ${name} through [${data.at?.join(', ')}]${means}`;
  const ends = (i) => (data.low ? `,${data.low[i]},${data.high[i]}` : '');
  const lines = data.x.map((_, i) => `${i * data.block},${data.x[i]},${data.y[i]}${ends(i)}`);
  csv([...header(of, about), `index,${name},value${data.low ? ',min,max' : ''}`, ...lines], 'line');
}

function saveSeries() {
  const of = field();
  if (!of) return;
  const lines = series().map((row) => row.map((v) => v ?? '').join(','));
  csv([...header(of), 'version,step,time,min,mean,max,probe', ...lines], 'series');
}
