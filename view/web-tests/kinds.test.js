// Tests of rare kinds of fields, and of a browser without WebGL.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  leave, dump, eventually, open, pixels, regionName, scene, see, showsField, view, withoutWebGl,
} from './harness.js';

after(leave);

async function showing(field, options) {
  const name = regionName('kinds');
  await scene(name, 8, 'rare');
  const page = await open((await view(name)).url, options);
  await page.click(`#fields button:has-text("${field}")`);
  await showsField(page, field);
  return { name, page };
}

/** Waits until the image has this size and these values. */
const image = (page, rows, cols, value) => eventually(async () => {
  const { image: seen } = await see(page, 'panels()[0]');
  assert.deepEqual([seen.rows, seen.cols], [rows, cols]);
  seen.values.forEach((v, i) => {
    const wanted = value(Math.floor(i / cols), i % cols);
    const error = Math.abs(v - wanted);
    assert.ok(error <= 1e-6 * Math.abs(wanted), `sample ${i} is ${v}, not ${wanted}`);
  });
});

test('complex numbers are drawn as moduli, and the value at a point has both parts', async () => {
  const { name, page } = await showing('wave');
  const { values, shape: [rows, cols] } = await dump(name, 'wave', 1);
  const parts = (row, col) => values.subarray(2 * (row * cols + col), 2 * (row * cols + col) + 2);
  await image(page, rows, cols, (row, col) => Math.hypot(...parts(row, col)));
  assert.equal(await see(page, 'panels()[0].title'), '|wave|');
  const { at, values: seen } = await see(page, 'shown.probe');
  assert.ok(Math.abs(seen[0] - Math.hypot(...parts(...at))) < 1e-12);
  const box = await page.locator('#heat').boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  const text = await eventually(async () => {
    const said = await page.textContent('#pin-value');
    assert.match(said, /= -?[\d.]+\s*[+-]\s*[\d.]+\s*[ij]/);
    return said;
  });
  const [row, col] = await see(page, 'state.pin');
  assert.ok(text.includes(String(parts(row, col)[0]).slice(0, 6)), text);
});

test('a field of four axes has six planes, and two sliders for the axes across each', async () => {
  const { name, page } = await showing('stack');
  const { values, shape } = await dump(name, 'stack', 1);
  const [, nz, ny, nx] = shape;
  const element = (w, z, y, x) => values[((w * nz + z) * ny + y) * nx + x];
  await image(page, ny, nx, (y, x) => element(1, 2, y, x));
  assert.equal(await page.locator('#planes button').count(), 6);
  assert.equal(await page.locator('#positions input').count(), 2);
  await page.locator('#positions input[data-axis="0"]').fill('2');
  await page.locator('#positions input[data-axis="1"]').fill('0');
  await image(page, ny, nx, (y, x) => element(2, 0, y, x));
  await page.click('#planes button[data-plane="0,3"]');
  await image(page, shape[0], nx, (w, x) => element(w, 0, ny >> 1, x));
  const volume = page.locator('[data-view=volume]');
  assert.ok(await volume.isDisabled(), 'there is no 3-D view of four axes');
});

test('a field without axes is shown as its value, and the page goes on', async () => {
  const name = regionName('value');
  const producer = await scene(name, 8, 'rare');
  const page = await open((await view(name)).url);
  await page.waitForFunction(() => window.tcasmView.panels()[0]?.image);
  await page.click('[data-view=compare]');
  await page.click('#fields button:has-text("energy")');
  const says = (text) => page.waitForFunction(
    (t) => document.getElementById('message').textContent === t,
    text,
  );
  await says('energy = 1.1 J');
  await producer.publish();
  await says('energy = 1.2 J');
  await eventually(async () => {
    const rows = await see(page, 'series()');
    assert.deepEqual(rows.map((row) => row[4]), [1.1, 1.2]);
  });
  await page.click('#fields button:has-text("plane")');
  await page.waitForFunction(() =>
    window.tcasmView.panels()[0]?.image && document.getElementById('message').hidden);
  assert.equal(await page.textContent('#region-state'), 'running');
  assert.deepEqual(page.troubles, []);
});

/** The colour of samples that are not finite: `--invalid` in style.css. */
const INVALID = [255, 0, 212];

test('one value that is not finite is drawn and counted in a coarser picture', async () => {
  const { page } = await showing('speck');
  const [row, col] = [301, 77];
  await eventually(async () => {
    const { image: seen } = await see(page, 'panels()[0]');
    assert.ok(seen.block[0] > 1 && seen.block[1] > 1, String(seen.block));
    assert.equal(seen.notFinite, 1);
    const marked = seen.values.flatMap((v, i) => (v === null ? [i] : []));
    const sample = [row, col].map((at, axis) => Math.floor(at / seen.block[axis]));
    assert.deepEqual(marked, [sample[0] * seen.cols + sample[1]]);
  });
  const { image: { block } } = await see(page, 'panels()[0]');
  // Look at the middle of the block, so that no edge of a pixel matters.
  const middle = [row, col].map((at, axis) => at - (at % block[axis]) + (block[axis] - 1) / 2);
  const [color] = await pixels(page, [middle]);
  assert.deepEqual([...color], INVALID);
  const csv = await see(page, 'csv()');
  assert.ok(csv.some((line) => line.includes('NaN if one of them is not finite')), csv[1]);
});

test('a unit with HTML and control characters is shown as text', async () => {
  const { page } = await showing('speck');
  const shown = '<b id="forged">K</b>&lt;\ufffd\ufffd[31m\ufffd1,2';
  await eventually(async () => {
    const text = await page.textContent('#fields li:has(button:has-text("speck"))');
    assert.ok(text.includes(shown), text);
  });
  assert.equal(await page.locator('#forged').count(), 0);
  const header = await see(page, 'csv()[0]');
  assert.ok(header.startsWith('#') && header.includes(shown), header);
  assert.deepEqual(page.troubles, []);
});

test('a curve of fewer points than the field shows a spike of one value', async () => {
  const name = regionName('spike');
  await scene(name, 8, 'rare');
  const page = await open((await view(name)).url);
  await page.click('#fields button:has-text("spike")');
  await page.waitForSelector('#curve canvas', { state: 'visible' });
  await eventually(async () => {
    const { field: shown, line } = await see(page, 'shown');
    assert.equal(shown, 'spike');
    assert.ok(line.values.length < 100000 && Math.max(...line.values) < 1000);
    assert.deepEqual([Math.min(...line.low), Math.max(...line.high)], [1, 1000]);
  });
  assert.deepEqual(page.troubles, []);
});

test('a browser without WebGL 2 says so, and goes on with slices', async () => {
  const { page } = await showing('block', { of: withoutWebGl() });
  await page.click('[data-view=volume]');
  await page.waitForFunction(() => /WebGL 2/.test(document.getElementById('message').textContent));
  assert.ok(await page.locator('#message').isVisible());
  await page.click('[data-view=slice]');
  await page.locator('#message').waitFor({ state: 'hidden' });
  await page.waitForFunction(() => window.tcasmView.panels()[0]?.image);
  assert.deepEqual(page.troubles, []);
});
