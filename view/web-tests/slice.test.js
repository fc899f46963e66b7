// Tests of the slice: the page must draw the values that `tcasm dump` writes.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  leave, colormaps, demo, downloaded, drawn, dump, eventually, open, pixels, place, regionName,
  scene, see, settled, showsField, view,
} from './harness.js';

after(leave);

/** Opens a page that shows a field of a scene. */
async function showing(field, options) {
  const name = regionName('slice');
  const producer = await scene(name);
  const server = await view(name);
  const page = await open(server.url, options);
  if (field !== 'plane') await page.click(`#fields button:has-text("${field}")`);
  await showsField(page, field);
  await settled(page);
  return { name, producer, server, page };
}

/** Returns cells in many places, including the corners. */
function cells(rows, cols) {
  const corners = [[0, 0], [0, cols - 1], [rows - 1, 0], [rows - 1, cols - 1]];
  return [...corners, ...Array.from({ length: 200 }, (_, i) => [(i * 7) % rows, (i * 13) % cols])];
}

const least = (values) => values.reduce((a, b) => (b < a ? b : a), Infinity);
const greatest = (values) => values.reduce((a, b) => (b > a ? b : a), -Infinity);

/**
 * Checks that each pixel has the colour of its value, or a neighbour of that in the map: values
 * come as 32-bit floats.
 */
function sameColors(seen, values, map, fraction) {
  seen.forEach((color, i) => {
    if (Number.isNaN(values[i])) return;
    const index = Math.max(0, Math.min(255, Math.floor(fraction(values[i]) * 256)));
    const at = (n) => String(map[Math.max(0, Math.min(255, n))]);
    const near = [index - 1, index, index + 1].map(at);
    const told = `cell ${i}: value ${values[i]} is ${color}, not ${map[index]}`;
    assert.ok(near.includes(String(color)), told);
  });
}

async function checkPixels(page, { values, shape }, map, range, logarithmic = false) {
  const at = cells(...shape);
  const [low, high] = range;
  const fraction = logarithmic
    ? (v) => Math.log(v / low) / Math.log(high / low)
    : (v) => (v - low) / (high - low);
  sameColors(await pixels(page, at), at.map(([r, c]) => values[r * shape[1] + c]), map, fraction);
}

test('the page loads without errors and sends requests only to its server', async () => {
  const { page, server } = await showing('plane');
  assert.deepEqual(page.troubles, []);
  const hosts = new Set(page.requests.map((url) => new URL(url).host));
  assert.deepEqual([...hosts], [new URL(server.url).host]);
});

test('the heat map of a running simulation has the values of its field', async () => {
  const name = regionName('demo');
  demo(name, 1500);
  const server = await view(name);
  const page = await open(server.url);
  await page.waitForFunction(() =>
    window.tcasmView.version?.version >= 3 && window.tcasmView.panels()[0]?.image);
  await page.keyboard.press(' ');
  const { version } = await see(page, 'version');
  const reference = await dump(name, 'height', version);
  const map = (await colormaps(server)).viridis;
  const ends = [least(reference.values), greatest(reference.values)];
  await eventually(() => checkPixels(page, reference, map, ends));
  const { values, block } = await see(page, 'panels()[0].image');
  assert.deepEqual(block, [1, 1]);
  values.forEach((v, i) => {
    const wanted = reference.values[i];
    assert.ok(Math.abs(v - wanted) < 1e-6, `sample ${i} is ${v}, not ${wanted}`);
  });
});

test('cells without a number have no colour of the map', async () => {
  const { page, server } = await showing('plane');
  const map = (await colormaps(server)).viridis.map(String);
  const nan = await pixels(page, [[0, 0], [1, 3], [3, 5]]);
  assert.ok(nan.every((color) => !map.includes(String(color))), String(nan));
  assert.equal(await see(page, 'panels()[0].image.values[0]'), null);
});

test('colour map, fixed range and logarithms change the colours as they should', async () => {
  const { page, server, name } = await showing('plane');
  const maps = await colormaps(server);
  const reference = await dump(name, 'plane', 1);
  const numbers = reference.values.filter((v) => !Number.isNaN(v));
  await page.selectOption('#colormap', 'magma');
  const ends = [least(numbers), greatest(numbers)];
  await eventually(() => checkPixels(page, reference, maps.magma, ends));
  await page.check('#log');
  await eventually(() => checkPixels(page, reference, maps.magma, ends, true));
  await page.uncheck('#log');
  await page.fill('#range-low', '0.25');
  await page.fill('#range-high', '0.5');
  await page.press('#range-high', 'Enter');
  assert.equal(await page.inputValue('#range-mode'), 'fixed');
  await eventually(() => checkPixels(page, reference, maps.magma, [0.25, 0.5]));
});

test('slider and axis choose the slice of a block', async () => {
  const { page, name } = await showing('block');
  const { values, shape } = await dump(name, 'block', 1);
  const [nz, ny, nx] = shape;
  const element = (z, y, x) => values[(z * ny + y) * nx + x];
  const check = (rows, cols, expected) => eventually(async () => {
    const { image } = await see(page, 'panels()[0]');
    assert.deepEqual([image.rows, image.cols], [rows, cols]);
    image.values.forEach((v, i) => {
      const wanted = expected(Math.floor(i / cols), i % cols);
      assert.ok(Math.abs(v - wanted) < 1e-6, `sample ${i} is ${v}, not ${wanted}`);
    });
  });
  await check(ny, nx, (y, x) => element(nz >> 1, y, x));
  await page.locator('#positions input').fill('3');
  await check(ny, nx, (y, x) => element(3, y, x));
  await page.click('#planes button:has-text("y")');
  await check(nz, nx, (z, x) => element(z, ny >> 1, x));
  await page.keyboard.press('x');
  await check(nz, ny, (z, y) => element(z, y, nx >> 1));
});

test('a component of a vector, or its magnitude', async () => {
  const { page, name } = await showing('wind');
  const { values } = await dump(name, 'wind', 1);
  const check = (value) => eventually(async () => {
    const { image } = await see(page, 'panels()[0]');
    image.values.forEach((v, i) => {
      const wanted = value(values.subarray(3 * i, 3 * i + 3));
      assert.ok(Math.abs(v - wanted) < 1e-6, `sample ${i}`);
    });
  });
  await check((v) => Math.hypot(...v));
  await page.selectOption('#component', '1');
  await check((v) => v[1]);
});

test('the value under the pointer and the line through it are those of the dump', async () => {
  const { page, name } = await showing('plane');
  const { values, shape } = await dump(name, 'plane', 1);
  const at = await place(page, 20, 40);
  await page.mouse.click(at.x, at.y);
  await eventually(async () => {
    const { probe, line } = await see(page, 'shown');
    assert.deepEqual(probe.at, [20, 40]);
    assert.equal(probe.values[0], values[20 * shape[1] + 40]);
    assert.deepEqual(line.values, Array.from(values.subarray(20 * shape[1], 21 * shape[1])));
  });
  const text = await page.textContent('#pin-value');
  assert.match(text, /\[20, 40\].*x = 20, y = 10/);
  assert.ok(text.includes(String(values[20 * shape[1] + 40]).slice(0, 8)), text);
});

test('zooming asks for a part, and shows it where it belongs', async () => {
  const { page, server, name } = await showing('plane');
  const reference = await dump(name, 'plane', 1);
  const at = await place(page, 24, 40);
  await page.mouse.move(at.x, at.y);
  for (let i = 0; i < 6; i += 1) await page.mouse.wheel(0, -200);
  const map = (await colormaps(server)).viridis;
  await eventually(async () => {
    const { image, range } = await see(page, 'panels()[0]');
    const [[r0, r1], [c0, c1]] = image.window;
    assert.ok(r1 - r0 < 20 && r0 <= 24 && r1 > 24, `rows ${r0} to ${r1}`);
    assert.ok(c1 - c0 < 30 && c0 <= 40 && c1 > 40, `columns ${c0} to ${c1}`);
    const inside = [[24, 40], [r0 + 2, c0 + 2], [r1 - 3, c1 - 3]];
    const values = inside.map(([r, c]) => reference.values[r * 64 + c]);
    const fraction = (v) => (v - range.low) / (range.high - range.low);
    sameColors(await pixels(page, inside), values, map, fraction);
  });
  const now = await place(page, 24, 40);
  assert.ok(Math.hypot(now.x - at.x, now.y - at.y) < 30, 'the cell under the pointer stays there');
  await page.click('#zoom-reset');
  await eventually(async () => {
    assert.deepEqual(await see(page, 'panels()[0].image.window'), [[0, 48], [0, 64]]);
  });
});

test('two fingers zoom about the middle between them', async () => {
  const { page } = await showing('plane', {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    deviceScaleFactor: 2,
  });
  const at = await place(page, 24, 32);
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...apart) => session.send('Input.dispatchTouchEvent', {
    type,
    touchPoints: apart.flatMap((d) => [
      { x: at.x - d, y: at.y, id: 0 },
      { x: at.x + d, y: at.y, id: 1 },
    ]),
  });
  await touch('touchStart', 20);
  for (const apart of [30, 40, 50, 60]) await touch('touchMove', apart);
  await touch('touchEnd');
  const { zoom, row, col } = await see(page, 'state.window');
  assert.ok(zoom > 2.5 && zoom < 3.5, `${zoom} times as near`);
  const far = Math.max(Math.abs(row - 24.5), Math.abs(col - 32.5));
  assert.ok(far < 1, `the middle is at ${row}, ${col}`);
  assert.equal(await see(page, 'state.pin'), null, 'no finger clicked');
});

test('a growing range covers all images drawn since, and an image range only its own', async () => {
  const { page, producer, name } = await showing('wind');
  await page.selectOption('#component', '0');
  await page.selectOption('#range-mode', 'grow');
  const ends = async () => see(page, 'panels()[0].range');
  let [low, high] = [Infinity, -Infinity];
  for (let version = 1; version <= 6; version += 1) {
    if (version > 1) await producer.publish();
    await drawn(page, version);
    const values = (await dump(name, 'wind', version)).values.filter((_, i) => i % 3 === 0);
    [low, high] = [Math.min(low, least(values)), Math.max(high, greatest(values))];
    await eventually(async () => {
      assert.deepEqual(await ends(), { low, high, log: false }, `version ${version}`);
    });
  }
  await page.selectOption('#range-mode', 'frame');
  const values = (await dump(name, 'wind', 6)).values.filter((_, i) => i % 3 === 0);
  const own = { low: least(values), high: greatest(values) };
  await eventually(async () => assert.deepEqual(await ends(), { ...own, log: false }));
  assert.ok(own.low > low || own.high < high, 'the ranges must differ, or this test is useless');
});

test('the slice as CSV has the values of the dump', async () => {
  const { page, name } = await showing('plane');
  const { values, shape } = await dump(name, 'plane', 1);
  await page.click('#save summary');
  const { bytes, name: file } = await downloaded(page, () => page.click('#save-slice'));
  assert.match(file, /_plane_slice_v1\.csv$/);
  const lines = String(bytes).trim().split('\n').filter((l) => !l.startsWith('#'));
  const rows = lines.map((l) => l.split(',').map(Number));
  assert.deepEqual([rows.length, rows[0].length], shape);
  rows.flat().forEach((v, i) => {
    const right = Object.is(v, values[i]) || Math.abs(v - values[i]) < 1e-7;
    assert.ok(right, `${i}: ${v}, ${values[i]}`);
  });
});

test('the image as PNG opens, and has the size of the stage', async () => {
  const { page } = await showing('plane');
  await page.click('#save summary');
  const { bytes } = await downloaded(page, () => page.click('#save-png'));
  const size = await page.evaluate(async (data) => {
    const png = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([png]));
    const heat = document.getElementById('heat');
    return [image.width - heat.width, image.height - heat.height];
  }, bytes.toString('base64'));
  assert.deepEqual(size, [0, 26]);
});

test('the histogram counts every number once', async () => {
  const { page } = await showing('plane');
  await eventually(async () => {
    const { histogram, moments } = await see(page, 'shown');
    const sum = histogram.counts.reduce((a, b) => a + b, histogram.below + histogram.above);
    assert.equal(moments.nans, 24);
    assert.equal(sum, 48 * 64 - 24);
  });
});

test('a field of one axis is a line', async () => {
  const name = regionName('profile');
  await scene(name);
  const page = await open((await view(name)).url);
  await page.click('#fields button:has-text("profile")');
  await page.waitForSelector('#curve canvas', { state: 'visible' });
  const { values } = await dump(name, 'profile', 1);
  await eventually(async () => {
    assert.deepEqual((await see(page, 'shown')).line?.values, Array.from(values));
  });
});

test('the map of changed pages shows changes and the names of the fields', async () => {
  const { page, producer } = await showing('plane');
  await producer.publish();
  await drawn(page, 2);
  const pages = await eventually(async () => {
    const seen = await see(page, 'pages');
    assert.ok(seen.changed > 0 && seen.values.some((v) => v > 0));
    return seen;
  });
  assert.equal(pages.values.length, pages.length);
  const keys = await page.$$eval('#pages-legend .key', (all) => all.map((e) => e.textContent));
  assert.deepEqual(keys, ['plane', 'block', 'wind', 'profile']);
});
