// The cross at the pinned point.

import { middleOf } from './placed.js';
import { blockAt } from './wholes.js';

/** Draws the cross on a panel (see heatmap.js). */
export function marker(ctx, panel, row, col) {
  const { map, ratio } = panel;
  const plain = [map.x(col + 0.5), map.y((map.rows[1] - map.rows[0] <= 1 ? 0 : row) + 0.5)];
  const place = panel.picks ? middleOf(panel, row, col) : plain;
  if (place) cross(ctx, map.box, ratio, place);
}

function cross(ctx, box, ratio, [x, y]) {
  if (x < box.x || x > box.x + box.width || y < box.y || y > box.y + box.height) return;
  ctx.save();
  // A white cross on a dark one is visible on every colour.
  for (const [color, width] of [['rgb(0 0 0 / 0.75)', 3.5], ['#fff', 1.5]]) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width * ratio;
    ctx.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      ctx.moveTo(x + dx * 4 * ratio, y + dy * 4 * ratio);
      ctx.lineTo(x + dx * 11 * ratio, y + dy * 11 * ratio);
    }
    ctx.stroke();
  }
  ctx.restore();
}

/**
 * Returns the value that the images of blocks show in a cell, and whether it is the mean of several
 * values.
 */
export function blockSampleAt(of, images, row, col, plane) {
  const found = images && blockAt(of, images, [row, col], plane);
  return found ? sampleAt(found.block, found.row, found.col) : null;
}

/**
 * Returns the value that an image shows at an index, and whether it is the mean of several values.
 */
export function sampleAt(image, row, col) {
  if (!image || image.error) return null;
  const [[top, bottom], [left, right]] = image.window;
  if (row < top || row >= bottom || col < left || col >= right) return null;
  const i = Math.floor((row - top) / image.block[0]);
  const j = Math.floor((col - left) / image.block[1]);
  const value = image.base + image.values[i * image.cols + j];
  return { value, mean: image.block[0] * image.block[1] > 1 };
}
