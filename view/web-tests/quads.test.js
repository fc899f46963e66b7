// Tests of samples as quadrilaterals, and of boxes, without server or browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rasterize } from '../assets/quads.js';
import { steady } from '../assets/box.js';
import { flat, noteGrid } from '../assets/placed.js';
import { set } from '../assets/store.js';

const grid = (rows, cols) => ({ rows, cols });
const rows = (numbers, width) =>
  Array.from({ length: numbers.length / width }, (_, i) =>
    [...numbers.subarray(i * width, (i + 1) * width)].join(' '));

test('upright samples have the pixels whose middles they cover', () => {
  const xs = Float64Array.from([0, 1, 4, 0, 1, 4]);
  const ys = Float64Array.from([2, 2, 2, 0, 0, 0]);
  const numbers = rasterize(grid(2, 3), xs, ys, 5, 3);
  assert.deepEqual(rows(numbers, 5), ['0 1 1 1 -1', '0 1 1 1 -1', '-1 -1 -1 -1 -1']);
});

test('oblique samples have their shape, and one without a place is left out', () => {
  // A diamond, and a sample one of whose corners is NaN.
  const xs = Float64Array.from([4, 8, NaN, 0, 4, 9]);
  const ys = Float64Array.from([0, 4, 1, 4, 8, 1]);
  const numbers = rasterize(grid(2, 3), xs, ys, 8, 8);
  const count = (wanted) => numbers.filter((number) => number === wanted).length;
  assert.equal(count(1), 0);
  assert.ok(count(0) > 24 && count(0) < 40, String(count(0)));
  assert.equal(numbers[0], -1);
  assert.equal(numbers[3 * 8 + 4], 0);
});

test('a sample that is smaller than a pixel is seen', () => {
  const xs = Float64Array.from([2.6, 2.7, 2.6, 2.7]);
  const ys = Float64Array.from([1.1, 1.1, 1.2, 1.2]);
  const numbers = rasterize(grid(2, 2), xs, ys, 4, 4);
  assert.deepEqual([...numbers].flatMap((n, i) => (n >= 0 ? [i] : [])), [6]);
});

test('work is bounded if all samples cover the whole screen', () => {
  const side = 200;
  const size = side * side;
  const xs = Float64Array.from({ length: size }, (_, i) => (i % 2 ? -1e6 : 1e6));
  const ys = Float64Array.from({ length: size }, (_, i) => ((i >> 1) % 2 ? -1e6 : 1e6));
  assert.equal(rasterize(grid(side, side), xs, ys, 500, 500).length, 250000);
});

test('a box stays while points move in it, and grows when they leave it', () => {
  const box = (low, high) => ({ low: [low, 0, 0], high: [high, 1, 1] });
  const before = box(0, 10);
  assert.equal(steady(null, before), before);
  assert.deepEqual(steady(before, box(1, 9)), before);
  const grown = steady(before, box(-1, 9));
  assert.deepEqual(grown, box(-1, 10));
  assert.deepEqual(steady(grown, box(0, 11)), box(-1, 11));
  assert.deepEqual(steady(grown, box(0, 10)), grown, 'points that move to and fro');
  for (const now of [box(0, 4), box(30, 40)]) assert.equal(steady(before, now), now, 'too large');
});

test('a slice that moves is seen along the axis in which it is thin', () => {
  const of = { name: 'v', shape: [2, 2] };
  const request = { slice: { axes: [0, 1], at: [0, 0] } };
  const image = { rows: 2, cols: 2, block: [1, 1], window: [[0, 2], [0, 2]], request };
  set({ plane: [0, 1] });
  for (const z of [0, 15]) {
    noteGrid(of, image, { rows: 3, cols: 3, low: [0, 0, z], high: [10, 10, z] });
    const { right, up } = flat(of);
    assert.deepEqual([right, up].map(({ axis, length }) => [axis, length]), [[0, 10], [1, 10]]);
  }
});
