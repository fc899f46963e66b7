// Tests of a field on the blocks of a whole: one entry in the list, and one slice with all used
// blocks of the version, by the colours of its pixels.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  leave, colormaps, drawn, eventually, open, pixels, place, regionName, scene, see, settled,
  showsField, view,
} from './harness.js';

after(leave);

const FIELD = 'amr/rho';

/** Opens a page that shows the field of the blocks. */
async function showing() {
  const name = regionName('blocks');
  const producer = await scene(name, 8, 'blocks');
  const server = await view(name);
  const page = await open(server.url);
  await drawn(page, 1);
  await page.click('#fields button:has-text("of amr")');
  await showsField(page, FIELD);
  await settled(page);
  return { page, producer, server };
}

/** Waits until the blocks that are drawn have these places, {name: [y, x]}. */
const untilBlocks = (page, places) => eventually(async () => {
  const [panel] = await see(page, 'panels()');
  const found = panel.image.blocks.map(({ mesh, origin }) => [mesh, origin]);
  assert.deepEqual(Object.fromEntries(found), places);
  return panel;
});

/** Checks the colours of cells: [[row, col, value], ...]. */
const checkColors = (page, map, [low, high], cells) => eventually(async () => {
  const seen = await pixels(page, cells);
  seen.forEach((color, i) => {
    const value = cells[i][2];
    const right = map[Math.min(255, Math.floor(((value - low) / (high - low)) * 256))];
    const near = color.every((part, c) => Math.abs(part - right[c]) <= 3);
    assert.ok(near, `cell ${cells[i]} is ${color}, not ${right}`);
  });
});

const FIRST = { b0: [0, 0], b1: [0, 2] };

test('a field of a whole is one entry, and says how many blocks there are', async () => {
  const { page, producer } = await showing();
  const entry = page.locator('#fields button:has-text("amr")');
  assert.equal(await entry.count(), 1);
  assert.equal(await entry.locator('.name').textContent(), 'rho');
  const says = (text) => eventually(async () => {
    assert.equal(await entry.locator('.detail').textContent(), text);
  });
  await says('float64 · kg · of amr · 3 blocks, 2 used');
  assert.equal(await page.locator('#fields button:has-text("rho0")').count(), 0);
  assert.equal(await page.locator('#fields button:has-text("plane")').count(), 1);
  await producer.publish();
  await says('float64 · kg · of amr · 3 blocks, 3 used');
  assert.deepEqual(page.troubles, []);
});

test('all used blocks are drawn at their places, finer ones over coarser ones', async () => {
  const { page, server } = await showing();
  const { viridis } = await colormaps(server);
  const panel = await untilBlocks(page, FIRST);
  assert.deepEqual([panel.range.low, panel.range.high], [1, 5.75]);
  assert.equal(panel.title, 'rho');
  assert.deepEqual(panel.axes.map(({ ends }) => ends), [[0, 4], [0, 4]]);
  // Cells of the finest block: the fine one has its own, of the coarse one 2 x 2 are a value.
  const cells = [
    [0, 0, 1], [1, 3, 1.25], [7, 7, 1.75], [4, 4, 1.5], [0, 4, 5], [3, 7, 5.75], [2, 5, 5.25],
  ];
  await checkColors(page, viridis, [1, 5.75], cells);
  const { moments, histogram } = await eventually(async () => {
    const shown = await see(page, 'shown');
    assert.ok(shown.moments && shown.histogram);
    return shown;
  });
  assert.deepEqual([moments.count, moments.mean], [32, 3.375]);
  assert.equal(histogram.counts.reduce((a, b) => a + b), 32);
  const { x, y } = await place(page, 2, 5);
  await page.mouse.click(x, y);
  await eventually(async () => {
    const text = await page.textContent('#pin-value');
    assert.match(text, /\[2, 5\] {2}x = 2\.75, y = 1\.25 = 5\.25 kg$/);
  });
  assert.deepEqual(page.troubles, []);
});

test('blocks that move or become unused keep the chosen place in space', async () => {
  const { page, producer, server } = await showing();
  const { viridis } = await colormaps(server);
  await untilBlocks(page, FIRST);
  const { x, y } = await place(page, 1, 5);
  await page.mouse.click(x, y);
  await eventually(async () => assert.deepEqual(await see(page, 'state.pin'), [1, 5]));

  await producer.publish();
  const second = await untilBlocks(page, { b0: [0, 0], b1: [2, 0], b2: [3, 3] });
  assert.deepEqual([second.range.low, second.range.high], [1, 9.75]);
  const cells = [[0, 0, 1], [3, 11, 1.5], [8, 0, 5], [15, 7, 5.75], [12, 12, 9], [15, 15, 9.75]];
  await checkColors(page, viridis, [1, 9.75], cells);
  // The cells are half as large now, and the coarse block is at the point.
  await eventually(async () => {
    assert.deepEqual(await see(page, 'state.pin'), [3, 11]);
    assert.match(await page.textContent('#pin-value'), /= 1\.5 kg$/);
  });

  await producer.publish();
  await untilBlocks(page, { b0: [0, 0] });
  // An older version has its own blocks.
  await page.click('#back');
  await page.click('#back');
  const first = await untilBlocks(page, FIRST);
  assert.deepEqual([first.range.low, first.range.high], [1, 5.75]);
  await checkColors(page, viridis, [1, 5.75], [[0, 4, 5], [7, 0, 1]]);
  assert.equal((await see(page, 'version')).version, 1);
  assert.deepEqual(page.troubles, []);
});

test('a version without used blocks is said, and the blocks come back', async () => {
  const { page, producer } = await showing();
  await producer.publish(3);
  await eventually(async () => {
    assert.equal(await page.textContent('#message'), 'No block is used in this version.');
  });
  await producer.publish();
  await untilBlocks(page, FIRST);
  await eventually(async () => assert.ok(await page.locator('#message').isHidden()));
  assert.deepEqual(page.troubles, []);
});

test('the page says which views of several blocks there are not', async () => {
  const { page } = await showing();
  const note = page.locator('#blocks-note');
  assert.match(await note.textContent(), /no comparison, no 3-D view/);
  assert.ok(await note.isVisible());
  for (const which of ['compare', 'volume']) {
    assert.ok(await page.locator(`[data-view=${which}]`).isDisabled(), which);
  }
  assert.equal(await page.textContent('#line-note'), 'no line through several blocks');
  await page.click('#fields button:has-text("plane")');
  await showsField(page, 'plane');
  assert.ok(await note.isHidden());
  await eventually(async () => {
    assert.match(await page.textContent('#line-note'), /^along x/);
  });
  assert.deepEqual(page.troubles, []);
});
