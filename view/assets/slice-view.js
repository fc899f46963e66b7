// The slice: alone, or beside the same slice of another version and their difference.

import { state, set, on, field, shownOfField } from './store.js';
import {
  aspect, axisName, coordinate, isPlaced, place, planeSize, title, unitOf,
} from './field.js';
import {
  fits, flat, noteGrid, picks, placedAxis, placedPart, placedPlane,
} from './placed.js';
import { panned, transform, wanted, zoomed } from './viewport.js';
import { fit, gestures, onResize, sizeOf } from './gestures.js';
import { drawPanel, MARGIN } from './heatmap.js';
import { colormap, diverging, pixels } from './colors.js';
import { range, symmetric } from './range.js';
import { difference } from './frames.js';
import { themeColors } from './theme.js';
import { marker } from './marker.js';
import { extentOf } from './wholes.js';

const canvas = document.getElementById('heat');
/** The panels that were drawn last, with their images, maps and ranges. */
let panels = [];

/**
 * Sets up the canvas.
 * @param {() => void} redraw draws again
 * @param {() => void} ask asks the server
 */
export function setUpSlice(redraw, ask) {
  onResize(canvas, () => {
    redraw();
    ask();
  });
  gestures(canvas, {
    hover: (x, y) => set({ hover: indexAt(x, y) }),
    leave: () => set({ hover: null }),
    drag: (dx, dy) => move((plane, rect) => panned(plane, state.window, rect, dx, dy)),
    zoom: (factor, x, y) => zoom(factor, x, y),
    click: (x, y) => set({ pin: indexAt(x, y) }),
  });
}

/** Zooms about a place on the canvas, or about its middle. */
export function zoom(factor, x, y) {
  move((plane, rect, own) => {
    // All panels show the same window, so a place on one panel is a place on all.
    const [px, py] = x === undefined
      ? [rect.x + rect.width / 2, rect.y + rect.height / 2]
      : [x - own.x + rect.x, y - own.y + rect.y];
    return zoomed(plane, state.window, rect, factor, px, py);
  }, x, y);
}

function move(change, x, y) {
  const of = field();
  if (!of) return;
  const areas = layout();
  const own = areas.find((a) => inside(a, x, y)) ?? areas[0];
  set({ window: change(planeOf(of), areas[0], own) });
}

/** Grids for three panels: columns and rows. */
const GRIDS = [[3, 1], [1, 3], [2, 2]];

/**
 * Returns the rectangles for images, in device pixels: one, or three in the grid that makes them
 * largest.
 */
function layout() {
  const of = field();
  if (state.view !== 'compare' || !of) return cells([1, 1], 1);
  const plane = planeOf(of);
  const size = (grid) => transform(plane, null, cells(grid, 1)[0]).fit;
  return cells(GRIDS.reduce((best, grid) => (size(grid) > size(best) ? grid : best)), 3);
}

/** Returns the first `count` cells of a grid, without the margins for labels. */
function cells([columns, lines], count) {
  const ratio = devicePixelRatio;
  // The canvas itself still has the size of the last drawing.
  const size = sizeOf(canvas);
  const [width, height] = [size[0] / columns, size[1] / lines];
  const { left, right, top, bottom } = MARGIN;
  return Array.from({ length: count }, (_, i) => ({
    x: (i % columns) * width + left * ratio,
    y: Math.floor(i / columns) * height + top * ratio,
    width: Math.max(8, width - (left + right) * ratio),
    height: Math.max(8, height - (top + bottom) * ratio),
  }));
}

const planeOf = (of) => (isPlaced(of)
  ? placedPlane(of)
  : { ...planeSize(of, state.plane), aspect: aspect(of, state.plane) });

/** Returns the part of the plane to ask the server for; null while there is no space to show it. */
export function wantedPlane() {
  const of = field();
  if (!of || of.shape.length === 0) return null;
  const hidden = sizeOf(canvas)[0] < 16;
  // The 3-D view shows such a slice, too.
  if (isPlaced(of)) {
    return placedPart(of, hidden ? null : transform(planeOf(of), state.window, layout()[0]));
  }
  if (hidden) return null;
  return wanted(transform(planeOf(of), state.window, layout()[0]));
}

/** Draws the slice. The old drawing stays until data of the chosen field has come. */
export function drawSlice() {
  const of = field();
  if (of && state.shown && !shownOfField()) return;
  const ctx = canvas.getContext('2d');
  const theme = themeColors();
  fit(canvas);
  ctx.fillStyle = theme.panel;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  panels = [];
  if (!of || state.view === 'volume' || of.shape.length === 0) return;
  const placed = isPlaced(of);
  if (placed) noteGrid(of, current(state.shown?.image), state.shown?.grid);
  const rects = layout();
  panels = contents(of).map((content, i) => ({
    ...content,
    rect: rects[i],
    map: transform(planeOf(of), state.window, rects[i]),
    theme,
    ratio: devicePixelRatio,
    unit: unitOf(of),
    placed,
    extentOf: (block, side) => extentOf(of, block, state.plane[side]),
    xAxis: placed ? placedAxis(of, 'right') : axisOf(of, state.plane[1]),
    yAxis: upAxis(of, placed),
  }));
  if (placed) panels.forEach((panel, i) => addPicks(of, panel, i));
  for (const panel of panels) {
    drawPanel(ctx, panel);
    if (state.pin) marker(ctx, panel, state.pin[state.plane[0]], state.pin[state.plane[1]]);
  }
}

function upAxis(of, placed) {
  if (placed) return placedAxis(of, 'up');
  return state.plane[0] === state.plane[1] ? null : axisOf(of, state.plane[0]);
}

/** The samples at the pixels of each panel, with what they were found from. */
const found = [];

/** Adds the samples at the pixels of a panel, if their places are known. */
function addPicks(of, panel, i) {
  const [grid, ends] = [state.shown?.grid, flat(of)];
  if (!ends || !fits(grid, panel.image)) return;
  Object.assign(panel, { grid, ends });
  const key = JSON.stringify([panel.map.box, panel.map.rows, panel.map.cols, ends]);
  if (found[i]?.corners !== grid.corners || found[i].key !== key) {
    found[i] = { corners: grid.corners, key, picks: picks(panel) };
  }
  panel.picks = found[i].picks;
}

function axisOf(of, axis) {
  return {
    name: axisName(of, axis),
    coordinate: (p) => coordinate(of, axis, p),
    place: (x) => place(of, axis, x),
  };
}

/**
 * Returns the images, ranges and titles of the panels. The data may be of the component that was
 * chosen before.
 */
function contents(of) {
  const image = current(of.blocks ? state.shown?.blocks : state.shown?.image);
  const table = pixels(colormap(state.colormap));
  const name = title(of, state.shown?.component ?? null);
  if (state.view !== 'compare') return [{ image, table, range: rangeOf(of, image), title: name }];
  const reference = current(state.shown?.compare);
  const shared = rangeOf(of, image, reference);
  const change = difference(image, reference);
  const number = (v) => (v ? `version ${v.version}` : '–');
  const chosen = state.reference === null ? null : { version: state.reference };
  const held = state.shown?.compare?.version ?? chosen;
  return [
    {
      image: reference,
      table,
      range: shared,
      title: `reference, ${number(held)}`,
      role: 'reference',
    },
    {
      image,
      table,
      range: shared,
      title: `${name}, ${number(state.shown?.version)}`,
      role: 'image',
    },
    {
      image: change,
      table: pixels(diverging()),
      range: symmetric(change ?? {}),
      title: 'difference',
      role: 'difference',
    },
  ];
}

/**
 * Returns the image if it is of the chosen plane, else null: the right image has not come yet, or
 * the version has no values.
 */
function current(image) {
  if (!image || image.error || state.shown?.empty) return null;
  return String(image.request?.slice?.axes) === String(state.plane) ? image : null;
}

function rangeOf(of, ...images) {
  const seen = images.filter(Boolean);
  const all = {
    min: Math.min(...seen.map((i) => i.min)),
    max: Math.max(...seen.map((i) => i.max)),
    positive: Math.min(...seen.map((i) => i.positive)),
  };
  const key = JSON.stringify([state.regionName, of.name, state.shown?.component]);
  return range(all, { mode: state.rangeMode, fixed: state.fixed, log: state.log, of: key });
}

const inside = ({ x, y, width, height }, px, py) =>
  px >= x && px < x + width && py >= y && py < y + height;

/** Returns the index of the element at a place on the canvas, or null. */
function indexAt(x, y) {
  const panel = panels.find(({ map }) => inside(map.box, x, y));
  const of = field();
  if (!panel || !of) return null;
  const [row, col] = state.plane;
  const index = of.shape.map((n, axis) => state.at[axis] ?? n >> 1);
  const within = (n, axis) => Math.min(of.shape[axis] - 1, Math.max(0, Math.floor(n)));
  if (row !== col) index[row] = within(panel.map.row(y), row);
  index[col] = within(panel.map.col(x), col);
  return panel.placed ? sampleAtPixel(panel, index, x, y) : index;
}

/** Returns the index of the point in the middle of the sample at a place; null if there is none. */
function sampleAtPixel({ picks: drawnPixels, image, map }, index, x, y) {
  if (!drawnPixels) return null;
  const { numbers, width, height } = drawnPixels;
  const [px, py] = [Math.floor(x - map.box.x), Math.floor(y - map.box.y)];
  const number = px >= 0 && px < width && py >= 0 && py < height ? numbers[py * width + px] : -1;
  if (number < 0) return null;
  const at = [Math.floor(number / image.cols), number % image.cols];
  return indexOfSample(index, image, at);
}

/** Returns `index` with the row and the column of the plane at the middle of a sample. */
export function indexOfSample(index, { block, window }, at) {
  const moved = [...index];
  state.plane.forEach((axis, side) => {
    const [first, end] = window[side];
    const middle = first + at[side] * block[side] + (block[side] >> 1);
    moved[axis] = Math.min(end - 1, middle);
  });
  return moved;
}

/** Returns the panels that were drawn, for exports and tests. */
export const drawn = () => panels;
