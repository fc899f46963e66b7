// Tests of versions (pause, step, scrub, compare) and of the 3-D view.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  leave, drawn, dump, eventually, grayScott, open, regionName, scene, see, showsField, view,
  withWebGl,
} from './harness.js';

after(leave);

async function showing(field = 'plane', versions = 5) {
  const name = regionName('versions');
  const producer = await scene(name);
  const page = await open((await view(name)).url);
  await producer.publish(versions - 1);
  if (field !== 'plane') await page.click(`#fields button:has-text("${field}")`);
  await showsField(page, field);
  await drawn(page, versions);
  return { name, producer, page };
}

/** Returns true if a sample has this value. The page has null for NaN. */
const isValue = (v, wanted) =>
  v === null ? Number.isNaN(wanted) : Math.abs(v - wanted) < 1e-6;

/** Waits until the page draws the values of this version. */
async function shows(page, name, version, panel = 0) {
  const { values } = await dump(name, 'plane', version);
  await eventually(async () => {
    const { image } = (await see(page, 'panels()'))[panel];
    image.values.forEach((v, i) => assert.ok(isValue(v, values[i]), `sample ${i}`));
  });
}

test('the page follows the newest version, and stays at its version while paused', async () => {
  const { page, producer, name } = await showing();
  await shows(page, name, 5);
  await page.click('#live');
  await producer.publish(2);
  await page.waitForFunction(() => window.tcasmView.state.region.latest.version === 7);
  assert.equal((await see(page, 'version')).version, 5);
  await shows(page, name, 5);
  await page.click('#live');
  await drawn(page, 7);
  await shows(page, name, 7);
});

test('steps and the time line reach all kept versions', async () => {
  const { page, name } = await showing();
  await page.waitForFunction(() => window.tcasmView.state.region.versions.length >= 5);
  await page.keyboard.press('ArrowLeft');
  await drawn(page, 4);
  await shows(page, name, 4);
  await page.click('#back');
  await drawn(page, 3);
  await page.click('#forward');
  await drawn(page, 4);
  await page.locator('#scrub').fill('0');
  await drawn(page, 1);
  await shows(page, name, 1);
  assert.match(await page.textContent('#position'), /paused · version 1 · step 1/);
});

test('two versions beside each other, and their difference', async () => {
  const { page, name, producer } = await showing();
  await page.keyboard.press('c');
  await producer.publish(3);
  await drawn(page, 8);
  await shows(page, name, 5, 0);
  await shows(page, name, 8, 1);
  const [before, now] = [await dump(name, 'plane', 5), await dump(name, 'plane', 8)];
  await eventually(async () => {
    const { image, range } = (await see(page, 'panels()'))[2];
    image.values.forEach((v, i) => {
      const wanted = now.values[i] - before.values[i];
      assert.ok(isValue(v, wanted), `sample ${i} is ${v}, not ${wanted}`);
    });
    assert.equal(range.low, -range.high, 'zero is in the middle');
  });
  await page.selectOption('#reference', '6');
  await shows(page, name, 6, 0);
});

test('a reference that the simulation no longer keeps is kept by the page', async () => {
  const name = regionName('gone');
  const producer = await scene(name, 1);
  const page = await open((await view(name)).url);
  await drawn(page, 1);
  const before = await dump(name, 'plane', 1);
  await page.keyboard.press('c');
  await page.waitForFunction(() => window.tcasmView.panels()[2]?.image);
  const { reference } = await see(page, 'state');
  assert.equal(reference, 1);
  for (const version of [2, 3, 4, 5]) {
    await producer.publish();
    await drawn(page, version);
  }
  const now = await dump(name, 'plane', 5);
  await eventually(async () => {
    const { image } = (await see(page, 'panels()'))[2];
    image.values.forEach((v, i) => {
      const wanted = now.values[i] - before.values[i];
      assert.ok(v === null || Math.abs(v - wanted) < 1e-6, `sample ${i}`);
    });
  });
});

test('the time series reaches to the newest version', async () => {
  const { page, name, producer } = await showing();
  for (const version of [6, 7, 8]) {
    await producer.publish();
    await drawn(page, version);
  }
  const { values } = await dump(name, 'plane', 8);
  await eventually(async () => {
    const rows = await see(page, 'series()');
    const last = rows.at(-1);
    const numbers = values.filter((v) => !Number.isNaN(v));
    // Versions that come quickly may be left out.
    assert.ok(rows.length >= 2, String(rows.map((r) => r[0])));
    assert.equal(last[0], 8);
    assert.equal(last[5], Math.max(...numbers));
    assert.ok(Math.abs(last[4] - numbers.reduce((a, b) => a + b) / numbers.length) < 1e-12);
  });
});

/** Returns the number of different colours in the 3-D view. */
const colors = (page) => page.evaluate(() => {
  const canvas = document.getElementById('volume');
  const size = { width: canvas.width, height: canvas.height };
  const flat = Object.assign(document.createElement('canvas'), size);
  const ctx = flat.getContext('2d');
  ctx.drawImage(canvas, 0, 0);
  return new Set(new Uint32Array(ctx.getImageData(0, 0, flat.width, flat.height).data.buffer)).size;
});

/** Returns the current image of the 3-D view. */
const picture = (page) => page.evaluate(() => document.getElementById('volume').toDataURL());

test('the 3-D view shows a running simulation as projection and surface, and turns', async () => {
  const name = regionName('gray');
  grayScott(name, 48);
  // Small, because it is drawn without a graphics card.
  const viewport = { width: 900, height: 600 };
  const page = await open((await view(name)).url, { of: withWebGl(), viewport });
  await page.waitForFunction(() => window.tcasmView.panels()[0]?.image);
  await page.click('#fields button:has-text("v")');
  await page.click('[data-view=volume]');
  await page.waitForFunction(() => window.tcasmView.volume);
  assert.deepEqual((await see(page, 'volume')).shape, [48, 48, 48]);
  await page.keyboard.press(' ');
  await eventually(async () => {
    assert.ok((await colors(page)) > 20, 'a projection has many colours');
  });
  await page.click('[data-render=iso]');
  await eventually(async () => {
    assert.ok((await colors(page)) > 20, 'a lit surface has many shades');
  });
  const before = await picture(page);
  const box = await page.locator('#volume').boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 240, { steps: 3 });
  await page.mouse.up();
  await eventually(async () => assert.notEqual(await picture(page), before));
  assert.deepEqual(page.troubles.filter((t) => !/GPU stall|GL Driver/.test(t)), []);
});
