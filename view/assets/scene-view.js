// The 3-D view of fields on meshes: points, surfaces and slices in space, with the box around them
// and the colour bar. Dragging rotates it.

import { state, set, field, mesh } from './store.js';
import { SceneRenderer } from './scene.js';
import { sceneData } from './scene-data.js';
import { edges, longest, names, rgb, steady } from './box.js';
import { camera, nearer, projection, turned } from './camera.js';
import { coordinateName, title, unitOf } from './field.js';
import { fit, gestures, onResize } from './gestures.js';
import { colorBar } from './heatmap.js';
import { colormap, pixels } from './colors.js';
import { fraction, range } from './range.js';
import { pick, project } from './pick.js';
import { number } from './numbers.js';
import { themeColors } from './theme.js';

/** Triangles above which the value under the pointer is read only at a click. */
const HOVER = 300000;

const canvas = document.getElementById('scene');
/** The canvas for text and lines. */
const labels = document.createElement('canvas');
let renderer = null;
let failure = null;
/** The viewpoints by region and mesh: {camera, box}. */
const viewpoints = new Map();
/** The last drawing: {data, ends, shares, view, viewpoint}. */
let last = null;

export const sceneRange = () => last?.ends ?? null;
export const sceneFailure = () => failure;
export const sceneLayers = () => [canvas, labels];

export function setUpScene(redraw) {
  labels.className = 'layer through';
  labels.hidden = true;
  labels.setAttribute('aria-hidden', 'true');
  canvas.after(labels);
  onResize(canvas, redraw);
  const turn = (yaw, pitch) => move(redraw, (view) => turned(view, yaw, pitch));
  const small = () => (last?.data.shape.corners?.length ?? 0) <= 3 * HOVER;
  gestures(canvas, {
    drag: (dx, dy) => turn(-dx / (180 * devicePixelRatio), dy / (180 * devicePixelRatio)),
    zoom: (factor) => zoomScene(factor, redraw),
    hover: (x, y) => small() && set({ hover: indexAt(x, y) }),
    leave: () => set({ hover: null }),
    click: (x, y) => set({ pin: indexAt(x, y) }),
  });
  canvas.addEventListener('keydown', (event) => {
    const steps = {
      ArrowLeft: [0.1, 0],
      ArrowRight: [-0.1, 0],
      ArrowUp: [0, 0.1],
      ArrowDown: [0, -0.1],
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    turn(...step);
  });
}

/** Moves the camera. */
function move(redraw, change) {
  const here = last?.viewpoint;
  if (!here) return;
  here.camera = change(here.camera);
  redraw();
}

export function zoomScene(factor, redraw) {
  move(redraw, (view) => (factor === null ? start(last.viewpoint.box) : nearer(view, factor)));
}

/** Returns the first camera. It looks at flat things from above. */
function start({ low, high }) {
  const flat = high[2] - low[2] <= 1e-6 * longest({ low, high });
  return flat ? turned({ yaw: 0, pitch: 0, zoom: 1 }, 0, Math.PI / 2) : camera();
}

/** Shows or hides the canvases. */
export function showScene(visible) {
  canvas.hidden = !visible;
  labels.hidden = !visible;
}

/** Returns the camera, which stays while points move, come and go, and the box around them. */
function viewpointOf(of, box) {
  const key = JSON.stringify([state.regionName, of.mesh]);
  const before = viewpoints.get(key);
  const now = steady(before?.box ?? null, box);
  const here = before ?? { camera: start(now) };
  here.box = now;
  viewpoints.set(key, here);
  return here;
}

export function drawScene() {
  const of = field();
  if (!of) return;
  if (!renderer && !failure) begin();
  const data = sceneData(of);
  if (!renderer) return;
  fit(canvas);
  if (!data?.box) {
    // The drawing before stays until there is another, unless there is nothing to draw.
    if (data || state.shown?.empty) clear();
    return;
  }
  const ends = rangeOf(of, data);
  const here = viewpointOf(of, data.box);
  const view = viewOf(here, data);
  const shares = sharesOf(data, ends);
  const colors = colormap(state.colormap);
  const theme = themeColors();
  const paint = { colors, background: rgb(theme.panel), invalid: rgb(theme.invalid) };
  renderer.draw(data.shape, shares, { ...view, ...paint });
  last = { data, ends, shares, view, viewpoint: here };
  annotate(of, pixels(colors));
}

function begin() {
  try {
    renderer = new SceneRenderer(canvas);
  } catch (error) {
    failure = error.message;
  }
}

function clear() {
  const nothing = { positions: new Float32Array(0), corners: null, valueOf: null };
  const view = { camera: camera(), centre: [0, 0, 0], scale: 1, size: 1 };
  const colors = colormap(state.colormap);
  const background = rgb(themeColors().panel);
  const paint = { colors, background, invalid: background };
  renderer.draw(nothing, new Float32Array(0), { ...view, ...paint });
  last = null;
  Object.assign(labels, { width: canvas.width, height: canvas.height });
}

function rangeOf(of, { min, max, positive }) {
  const key = JSON.stringify([state.regionName, of.name, state.shown.component]);
  const options = { mode: state.rangeMode, fixed: state.fixed, log: state.log, of: key };
  return range({ min, max, positive }, options);
}

/** Returns the share of the range of each value, below 0 for values that are not finite. */
function sharesOf({ values, base }, ends) {
  const known = last?.data.values === values && JSON.stringify(last.ends) === JSON.stringify(ends);
  if (known) return last.shares;
  return values.map((value) => {
    const share = Number.isFinite(base + value) ? fraction(base + value, ends) : NaN;
    return Number.isNaN(share) ? -1 : Math.max(0, Math.min(1, share));
  });
}

function viewOf({ camera: from, box }, { origin, shape }) {
  const { width, height } = canvas;
  const middle = box.low.map((low, axis) => low / 2 + box.high[axis] / 2);
  const count = Math.max(1, shape.positions.length / 3);
  const apart = (0.5 * Math.min(width, height)) / Math.sqrt(count);
  return {
    camera: from,
    centre: middle.map((m, axis) => m - origin[axis]),
    scale: 1 / (longest(box) || 1),
    size: Math.max(2, Math.min(12, apart / devicePixelRatio)) * devicePixelRatio,
    width,
    height,
  };
}

function annotate(of, table) {
  const { width, height } = canvas;
  Object.assign(labels, { width, height });
  const ctx = labels.getContext('2d');
  const [theme, ratio] = [themeColors(), devicePixelRatio];
  const { view, ends, data, viewpoint: { box } } = last;
  const sides = box.high.map((high, axis) => (high - box.low[axis]) * view.scale);
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.lineWidth = ratio;
  ctx.strokeStyle = theme.frame;
  ctx.fillStyle = theme.text;
  const onScreen = projection(view.camera, width, height);
  edges(ctx, sides, onScreen);
  names(ctx, axisTexts(box, sides), sides, onScreen);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  const caption = `${title(of, state.shown.component)}, version ${state.shown.version.version}`;
  ctx.fillText([caption, data.note].filter(Boolean).join(', '), 16 * ratio, 20 * ratio);
  const image = { invalid: data.notFinite };
  const bar = { x: width - 92 * ratio, y: 40 * ratio, height: height - 80 * ratio };
  colorBar(ctx, { range: ends, table, unit: unitOf(of), theme, ratio, image }, bar);
  markPin(ctx, ratio);
}

/** Returns the name, the ends and the unit of each axis along which the box has a length. */
function axisTexts({ low, high }, sides) {
  const text = (axis) => {
    const [first, end] = [number(low[axis], 4), number(high[axis], 4)];
    return `${coordinateName(mesh(), axis)}  ${first} … ${end}`;
  };
  return sides.map((side, axis) => (side > 0 ? text(axis) : ''));
}

/** Draws a ring around the pinned point. */
function markPin(ctx, ratio) {
  const place = state.pin && placeOf(state.pin);
  if (!place) return;
  for (const [color, width] of [['rgb(0 0 0 / 0.75)', 3.5], ['#fff', 1.5]]) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width * ratio;
    ctx.beginPath();
    ctx.arc(...place, 8 * ratio, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

/** Returns the place of the value with this index on the canvas, in device pixels, or null. */
export function placeOf(index) {
  const points = last && pointsOf(index);
  return points ? middle(points, last.data.shape.positions, last.view) : null;
}

/** The result of the last search for the points of a value: {index, values, points}. */
let found = null;

/** Returns the points of the value with this index: one, or the corners of its triangle. */
function pointsOf(index) {
  const { shape: { corners, positions, valueOf }, indexOf, values } = last.data;
  if (found?.values === values && found.index === String(index)) return found.points;
  const count = valueOf ? corners.length / 3 : positions.length / 3;
  const is = (other) => other.every((at, axis) => at === index[axis]);
  let points = null;
  for (let i = 0; i < count && !points; i += 1) {
    if (is(valueOf ? indexOf(-1, i) : indexOf(i, -1))) {
      points = valueOf ? [...corners.subarray(3 * i, 3 * i + 3)] : [i];
    }
  }
  found = { values, index: String(index), points };
  return points;
}

/** Returns the middle of some points on the canvas. */
function middle(points, positions, view) {
  const numbers = points.flatMap((i) => [0, 1, 2].map((c) => positions[3 * i + c]));
  const some = Float32Array.from(numbers);
  const { xs, ys, depths } = project(some, view);
  const mean = (places) => places.reduce((a, b) => a + b, 0) / places.length;
  return depths.some(Number.isNaN) ? null : [mean(xs), mean(ys)];
}

/** Returns the index of the value at a place on the canvas, or null. */
function indexAt(x, y) {
  if (!last) return null;
  const { data, view } = last;
  const picked = pick(data.shape, view, x, y);
  return picked && data.indexOf(picked.point, picked.triangle);
}

/** Returns what is drawn, for tests. */
export function sceneDrawn() {
  if (!last || canvas.hidden) return null;
  const { data, ends, viewpoint: here } = last;
  const { shape, values, base, note, notFinite } = data;
  return {
    points: shape.positions.length / 3,
    triangles: shape.corners ? shape.corners.length / 3 : 0,
    values: Array.from(values, (v) => (Number.isNaN(v) ? null : base + v)),
    range: { ...ends },
    box: here.box,
    camera: { ...here.camera },
    note,
    notFinite,
  };
}
