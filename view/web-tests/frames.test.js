// Tests of decoding frames, without server or browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, difference } from '../assets/frames.js';
import { field, set } from '../assets/store.js';

/** Returns a message of the server: head and 32-bit samples. */
function frame(head, samples) {
  let text = JSON.stringify({ type: 'frame', field: 'u', component: null, error: null, ...head });
  text = text.padEnd(text.length + ((8 - ((4 + text.length) % 8)) % 8));
  const bytes = new Uint8Array(4 + text.length + 4 * samples.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(new TextEncoder().encode(text), 4);
  bytes.set(new Uint8Array(Float32Array.from(samples).buffer), 4 + text.length);
  return bytes.buffer;
}

const image = (tiles, base = 0) => ({
  rows: 3,
  cols: 3,
  block: [1, 1],
  window: [[0, 3], [0, 3]],
  base,
  tile: 2,
  tiles,
  at: 0,
});
const version = (number) => ({ version: number, step: number, time: number });
/** Returns the first frame, with all tiles. */
const whole = (samples, base = 0) =>
  frame({ frame: 1, id: 1, version: version(1), image: image([0, 1, 2, 3], base) }, samples);

test('tiles that are sent replace those before, and other tiles stay', () => {
  const first = apply(null, whole([1, 2, 4, 5, 3, 6, 7, 8, 9]));
  assert.deepEqual([...first.image.values], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const one = frame({ frame: 2, id: 1, version: version(2), image: image([1]) }, [30, 60]);
  assert.deepEqual([...apply(first, one).image.values], [1, 2, 30, 4, 5, 60, 7, 8, 9]);
});

test('a frame with an error keeps the data before', () => {
  const first = apply(null, whole([1, 2, 4, 5, 3, 6, 7, 8, 9]));
  const gone = apply(first, frame({ frame: 2, id: 2, error: 'version 7 has gone' }, []));
  assert.equal(gone.error, 'version 7 has gone');
  assert.deepEqual([gone.version, gone.image], [first.version, first.image]);
});

// The server counts on this: it sends such data again (`Writer::forget_others`).
test('a frame of another field or component makes the page forget all data', () => {
  const first = apply(null, whole([1, 2, 4, 5, 3, 6, 7, 8, 9]));
  const others = [{ field: 'v' }, { component: 1 }, { field: 'v', error: 'no such field' }];
  for (const other of others) {
    const head = { frame: 2, id: 2, version: version(2), ...other };
    assert.equal(apply(first, frame(head, [])).image, undefined);
  }
});

test('an image without a grid makes the page forget the corners', () => {
  const grid = { rows: 1, cols: 1, origin: [0, 0, 0], corners: 0 };
  const tiles = image([]);
  const head = { id: 1, version: version(1), image: tiles };
  const first = apply(null, frame({ ...head, frame: 1, grid }, [1, 2, 3]));
  assert.deepEqual([...first.grid.corners], [1, 2, 3]);
  assert.equal(apply(first, frame({ ...head, frame: 2 }, [])).grid, null);
});

test('arrays of a mesh that are not sent again are those of the frame before', () => {
  const head = (number, more) => ({
    frame: number,
    id: 1,
    version: version(number),
    shape: [2],
    scene: {
      points: 2,
      cells: false,
      surface: null,
      base: 10,
      origin: [0, 0, 0],
      positions: null,
      numbers: null,
      values: null,
      ...more,
    },
  });
  const range = { min: 17, max: 18 };
  const one = frame(head(1, { positions: 0, values: 24, ...range }), [1, 2, 3, 4, 5, 6, 7, 8]);
  const first = apply(null, one);
  assert.deepEqual([...first.scene.positions], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([first.scene.min, first.scene.max], [17, 18]);
  const second = apply(first, frame(head(2, { values: 0, min: 9, max: 9 }), [-1, NaN]));
  assert.equal(second.scene.positions, first.scene.positions);
  assert.deepEqual([second.scene.min, second.scene.max], [9, 9]);
  const third = apply(second, frame(head(3, {}), []));
  assert.equal(third.scene.values, second.scene.values);
  assert.deepEqual([third.scene.min, third.scene.max], [Infinity, -Infinity]);
});

test('a version without values keeps the data before, but says that there is none', () => {
  const first = apply(null, whole([1, 2, 4, 5, 3, 6, 7, 8, 9]));
  assert.equal(first.empty, false);
  const none = frame({ frame: 2, id: 1, version: version(2), shape: [0, 3] }, []);
  const empty = apply(first, none);
  assert.deepEqual([empty.empty, empty.version.version], [true, 2]);
  assert.equal(empty.image, first.image);
});

test('a difference takes the bases of both images into account', () => {
  const of = (base) => apply(null, whole(Array(9).fill(0.25), base)).image;
  const change = difference(of(1000), of(998));
  assert.equal(change.base + change.values[4], 2);
});

test('a field has the coordinates of the version that is shown, not of the newest one', () => {
  const axes = (x) => ({ origin: [x], spacing: [0.5] });
  const shown = apply(null, frame({ frame: 1, id: 1, version: version(5), axes: axes(5) }, []));
  set({ region: { fields: [{ name: 'u', shape: [4], ...axes(8) }] }, fieldName: 'u', shown });
  assert.deepEqual([field().origin, field().shape], [[5], [4]]);
  // A frame of costly parts alone has no axes: the image before stays, and its axes too.
  const later = apply(shown, frame({ frame: 2, id: 1, version: version(6) }, []));
  assert.deepEqual(later.axes, axes(5));
  set({ shown: null });
  assert.deepEqual(field().origin, [8]);
});
