// The 3-D view: the volume, its edges with the names of the axes, and the colour bar. Dragging
// rotates it.

import { state, set, field, shownOfField } from './store.js';
import { VolumeRenderer } from './volume.js';
import { edges, names, rgb } from './box.js';
import { camera, nearer, projection, turned } from './camera.js';
import { fit, gestures, onResize } from './gestures.js';
import { colorBar } from './heatmap.js';
import { colormap, pixels } from './colors.js';
import { range, valueAt } from './range.js';
import { axisName, title, unitOf } from './field.js';
import { number } from './numbers.js';
import { themeColors } from './theme.js';

const canvas = document.getElementById('volume');
/** The canvas for text and lines, over the volume. A WebGL canvas cannot draw text. */
const labels = document.createElement('canvas');
let renderer = null;
let failure = null;
let view = camera();
/** The range that was drawn last. */
let ends = null;

export const volumeRange = () => ends;

export function setUpVolume(redraw) {
  labels.className = 'layer through';
  labels.hidden = true;
  labels.setAttribute('aria-hidden', 'true');
  canvas.after(labels);
  onResize(canvas, redraw);
  const turn = (yaw, pitch) => {
    view = turned(view, yaw, pitch);
    redraw();
  };
  gestures(canvas, {
    drag: (dx, dy) => turn(-dx / (180 * devicePixelRatio), dy / (180 * devicePixelRatio)),
    zoom: (factor) => zoomVolume(factor, redraw),
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

export function zoomVolume(factor, redraw) {
  view = factor === null ? camera() : nearer(view, factor);
  redraw();
}

/** Shows or hides the canvases. */
export function showVolume(visible) {
  canvas.hidden = !visible;
  labels.hidden = !visible;
}

/** Returns the reason why there is no 3-D view; null if there is one. */
export const volumeFailure = () => failure;

export function drawVolume() {
  const of = field();
  if (!of || of.shape.length !== 3) return;
  if (!renderer && !failure) start();
  const block = shownOfField()?.volume;
  if (!renderer || !block || !(block.min <= block.max)) return;
  const positive = block.min > 0 ? block.min : block.max / 1000;
  const seen = { min: block.min, max: block.max, positive };
  const key = JSON.stringify([state.regionName, of.name, state.shown.component]);
  ends = range(seen, { mode: state.rangeMode, fixed: state.fixed, log: state.log, of: key });
  const colors = colormap(state.colormap);
  const sides = lengths(of, block);
  fit(canvas);
  const iso = state.render === 'iso';
  renderer.draw(block, {
    camera: view,
    lengths: sides,
    range: ends,
    iso,
    level: state.level,
    colors,
    background: rgb(themeColors().panel),
  });
  annotate(of, sides, pixels(colors));
  document.getElementById('level-value').textContent = number(valueAt(state.level, ends), 4);
}

function start() {
  try {
    renderer = new VolumeRenderer(canvas);
  } catch (error) {
    failure = error.message;
  }
}

/** Returns the lengths of the box along x, y, z. The longest is 1. */
function lengths(of, block) {
  const spacing = block.spacing ?? [1, 1, 1];
  const sides = of.shape.map((n, axis) => n * Math.abs(spacing[axis])).reverse();
  const longest = Math.max(...sides);
  return sides.map((side) => side / longest);
}

function annotate(of, sides, table) {
  const { width, height } = canvas;
  Object.assign(labels, { width, height });
  const ctx = labels.getContext('2d');
  const [theme, ratio] = [themeColors(), devicePixelRatio];
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.lineWidth = ratio;
  ctx.strokeStyle = theme.frame;
  ctx.fillStyle = theme.text;
  const project = projection(view, width, height);
  edges(ctx, sides, project);
  names(ctx, [2, 1, 0].map((axis) => axisName(of, axis)), sides, project);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  const stamp = state.shown.volume.version ?? state.shown.version;
  const bad = state.shown.volume.not_finite;
  // They have no colour of their own here, because the samples are interpolated.
  const lacking = bad > 0 ? `, ${bad} not finite, drawn as the least` : '';
  const caption = `${title(of, state.shown.component)}, version ${stamp.version}${lacking}`;
  ctx.fillText(caption, 16 * ratio, 20 * ratio);
  const bar = { x: width - 92 * ratio, y: 40 * ratio, height: height - 80 * ratio };
  colorBar(ctx, { range: ends, table, unit: unitOf(of), theme, ratio }, bar);
}

/** Returns the canvases of the view, lowest first. */
export const volumeLayers = () => [canvas, labels];

/** Changes the level of the isosurface by `by`. The keyboard uses it. */
export function shiftLevel(by) {
  set({ level: Math.max(0, Math.min(1, state.level + by)) });
}
