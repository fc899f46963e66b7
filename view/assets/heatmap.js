// Draws one image with axes and colour bar on a canvas. Each sample is a rectangle of one colour.

import { pixel } from './colors.js';
import { colorIndex, valueAt, fraction } from './range.js';
import { number, ticks, logTicks, tickLabels } from './numbers.js';

/** The space around an image for labels and the colour bar, in CSS pixels. */
export const MARGIN = { left: 58, right: 86, top: 28, bottom: 40 };
const BAR = { gap: 14, width: 13 };
const FONT = '11px system-ui, sans-serif';

const scratch = document.createElement('canvas');

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {object} panel image: see frames.js, or null; map: see viewport.js; placed: true if
 *   samples have places of their own; picks: see placed.js; extentOf: see wholes.js; range; table:
 *   256 pixels; title, unit, note; xAxis, yAxis: {name, coordinate, place}; theme: colours; ratio:
 *   device pixels per CSS pixel
 */
export function drawPanel(ctx, panel) {
  const { box } = panel.map;
  ctx.save();
  hatch(ctx, box, panel);
  if (panel.picks) drawQuads(ctx, panel);
  else if (panel.image?.images) panel.image.images.forEach((one) => drawBlock(ctx, panel, one));
  else if (panel.image && !panel.placed) drawImage(ctx, panel);
  ctx.restore();
  ctx.save();
  ctx.font = scaled(FONT, panel.ratio);
  ctx.strokeStyle = panel.theme.frame;
  ctx.lineWidth = panel.ratio;
  const half = panel.ratio / 2;
  ctx.strokeRect(box.x - half, box.y - half, box.width + panel.ratio, box.height + panel.ratio);
  axes(ctx, panel);
  heading(ctx, panel);
  if (panel.image) colorBar(ctx, panel, { x: box.x + box.width, y: box.y, height: box.height });
  ctx.restore();
}

const scaled = (font, ratio) => font.replace(/^\d+/, (px) => String(Number(px) * ratio));

/** Draws a pattern that no colour map has. It is visible where there is no sample (yet). */
function hatch(ctx, box, { theme, ratio }) {
  ctx.beginPath();
  ctx.rect(box.x, box.y, box.width, box.height);
  ctx.clip();
  ctx.fillStyle = theme.missing;
  ctx.fillRect(box.x, box.y, box.width, box.height);
  ctx.strokeStyle = theme.hatch;
  ctx.lineWidth = ratio;
  ctx.beginPath();
  for (let d = 0; d < box.width + box.height; d += 6 * ratio) {
    ctx.moveTo(box.x + d, box.y);
    ctx.lineTo(box.x + d - box.height, box.y + box.height);
  }
  ctx.stroke();
}

/** Draws the colours of samples on `scratch`, one pixel for each. */
function prepare(image, { range, table, theme }) {
  const { rows, cols } = image;
  Object.assign(scratch, { width: cols, height: rows });
  const brush = scratch.getContext('2d');
  const data = brush.createImageData(cols, rows);
  paint(new Uint32Array(data.data.buffer), image, range, [table, pixel(theme.invalid)]);
  brush.putImageData(data, 0, 0);
}

/**
 * Draws the samples of a block of a whole at its place. It begins and ends between pixels, so that
 * nothing is seen between neighbouring blocks.
 */
function drawBlock(ctx, panel, image) {
  const { map } = panel;
  const { rows, cols, block, window } = image;
  prepare(image, panel);
  const places = (side) => {
    const { first, step } = panel.extentOf(image, side);
    return window[side].map((index) => first + index * step);
  };
  const [bottom, top] = places(0).map((row) => Math.round(map.y(row)));
  const [left, right] = places(1).map((col) => Math.round(map.x(col)));
  const [width, height] = [Math.max(1, right - left), Math.max(1, bottom - top)];
  // The last sample may stand for fewer values than the others, as in `drawImage`.
  const more = (samples, side) => (samples * block[side]) / (window[side][1] - window[side][0]);
  const [w, h] = [width * more(cols, 1), height * more(rows, 0)];
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bottom - height, width, height);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(scratch, left, bottom - h, w, h);
  ctx.restore();
}

/** Draws the samples where the cells are that they stand for, clipped to the box. */
function drawImage(ctx, panel) {
  const { image, map } = panel;
  const { rows, cols, block, window } = image;
  prepare(image, panel);
  // The last sample may stand for fewer cells than the others. Clip the part outside of the window.
  const [left, right] = [map.x(window[1][0]), map.x(window[1][1])];
  const [bottom, top] = [map.y(window[0][0]), map.y(window[0][1])];
  ctx.beginPath();
  ctx.rect(left, top, right - left, bottom - top);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  const height = rows * block[0] * map.sy;
  ctx.drawImage(scratch, left, bottom - height, cols * block[1] * map.sx, height);
}

/**
 * Writes the colours of samples to pixels. Rows go up, so the first row is the last of the pixels.
 * A sample that is not finite, because a value of its block is not, has a colour of its own.
 */
function paint(pixels, { rows, cols, values, base }, range, [table, invalid]) {
  for (let row = 0; row < rows; row += 1) {
    const to = (rows - 1 - row) * cols;
    for (let col = 0; col < cols; col += 1) {
      const index = colorIndex(base + values[row * cols + col], range);
      pixels[to + col] = index < 0 ? invalid : table[index];
    }
  }
}

/** Draws samples that are quadrilaterals. */
function drawQuads(ctx, { image, map, range, table, theme, picks }) {
  const { numbers, width, height } = picks;
  Object.assign(scratch, { width, height });
  const brush = scratch.getContext('2d');
  const data = brush.createImageData(width, height);
  const pixels = new Uint32Array(data.data.buffer);
  const invalid = pixel(theme.invalid);
  const colors = Array.from(image.values, (value) => {
    const index = colorIndex(image.base + value, range);
    return index < 0 ? invalid : table[index];
  });
  numbers.forEach((number, i) => {
    if (number >= 0) pixels[i] = colors[number];
  });
  brush.putImageData(data, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(scratch, map.box.x, map.box.y);
}

/** Draws ticks and labels below and to the left. */
function axes(ctx, { map, xAxis, yAxis, theme, ratio }) {
  const { box, cols, rows } = map;
  ctx.fillStyle = theme.dim;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'top';
  const tick = 4 * ratio;
  for (const { at, label } of marks(xAxis, cols, box.width / (64 * ratio))) {
    const x = map.x(at);
    line(ctx, x, box.y + box.height, x, box.y + box.height + tick);
    ctx.fillText(label, x, box.y + box.height + tick + 2 * ratio);
  }
  ctx.fillText(xAxis.name, box.x + box.width / 2, box.y + box.height + 22 * ratio);
  if (!yAxis) return;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  for (const { at, label } of marks(yAxis, rows, box.height / (40 * ratio))) {
    const y = map.y(at);
    line(ctx, box.x - tick, y, box.x, y);
    ctx.fillText(label, box.x - tick - 3 * ratio, y);
  }
  ctx.save();
  ctx.translate(box.x - 46 * ratio, box.y + box.height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = 'center';
  ctx.fillText(yAxis.name, 0, 0);
  ctx.restore();
}

/** Returns round coordinates on an axis, with their places. */
function marks({ coordinate, place }, [first, end], count) {
  const ends = [coordinate(first), coordinate(end)].sort((a, b) => a - b);
  const values = ticks(...ends, Math.min(8, count));
  const labels = tickLabels(values);
  return values
    .map((value, i) => ({ at: place(value), label: labels[i] }))
    .filter(({ at }) => at >= first && at <= end);
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

function heading(ctx, { map, title, theme, ratio }) {
  ctx.fillStyle = theme.text;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.fillText(title, map.box.x, map.box.y - 9 * ratio, map.box.width + 10 * ratio);
}

/**
 * Draws the colour bar with ticks and unit, and the colour of samples that are not finite, if there
 * are any, with the number of such values.
 */
export function colorBar(ctx, { range, table, unit, theme, ratio, image }, { x, y, height }) {
  const [left, width] = [x + BAR.gap * ratio, BAR.width * ratio];
  for (let row = 0; row < Math.ceil(height); row += 1) {
    const index = Math.min(255, Math.floor((1 - (row + 0.5) / height) * 256));
    ctx.fillStyle = css(table[Math.max(0, index)]);
    ctx.fillRect(left, y + row, width, Math.min(1.5, height - row));
  }
  ctx.strokeRect(left - ratio / 2, y - ratio / 2, width + ratio, height + ratio);
  ctx.fillStyle = theme.dim;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  for (const { value, label } of barMarks(range, height / (34 * ratio))) {
    const at = y + height * (1 - fraction(value, range));
    line(ctx, left + width, at, left + width + 4 * ratio, at);
    ctx.fillText(label, left + width + 7 * ratio, at);
  }
  ctx.textBaseline = 'alphabetic';
  if (unit) ctx.fillText(unit, left, y - 9 * ratio);
  const place = { x: left, y: y + height + 12 * ratio, width };
  if (image?.invalid > 0) notFinite(ctx, place, image.notFinite ?? image.invalid, theme, ratio);
}

function notFinite(ctx, { x, y, width }, count, theme, ratio) {
  ctx.fillStyle = theme.invalid;
  ctx.fillRect(x, y, width, width);
  ctx.strokeRect(x, y, width, width);
  ctx.fillStyle = theme.dim;
  ctx.textBaseline = 'middle';
  const [left, most] = [x + width + 7 * ratio, 50 * ratio];
  ctx.fillText('not finite', left, y + width / 2 - 5 * ratio, most);
  ctx.fillText(String(count), left, y + width / 2 + 7 * ratio, most);
}

function barMarks(range, count) {
  const make = range.log ? logTicks : ticks;
  let values = make(range.low, range.high, Math.min(8, count));
  if (values.length > 1) return labelled(values, tickLabels(values));
  // There are too few round numbers, because the bar is too low or the ends are too close.
  values = [0, 0.5, 1].map((t) => valueAt(t, range));
  return labelled(values, values.map((value) => number(value, 3)));
}

function labelled(values, labels) {
  return values.map((value, i) => ({ value, label: labels[i] }));
}

const css = (pixel) => `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
