// Tests of fields on named meshes: points, surfaces and slices, by the colours of their pixels.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  leave, colormaps, drawn, eventually, open, regionName, scene, see, view, withWebGl,
} from './harness.js';

after(leave);

let browser = null;
/** The colour of values that are not finite: `--invalid` in style.css. */
const INVALID = [255, 0, 212];

/** Opens a page that shows a field of the meshes. Small, because no graphics card draws it. */
async function showing(field) {
  const name = regionName('mesh');
  const producer = await scene(name, 8, 'meshes');
  const server = await view(name);
  browser ??= withWebGl();
  const page = await open(server.url, { of: browser, viewport: { width: 900, height: 600 } });
  await drawn(page, 1);
  await page.click(`#fields button:has-text("${field}")`);
  await page.waitForFunction((f) => window.tcasmView.shown.field === f, field);
  return { page, producer, server };
}

/** Waits until a scene is drawn for which `is` returns true. */
const untilScene = (page, is = () => true) => eventually(async () => {
  const found = await see(page, 'scene');
  assert.ok(found && is(found), JSON.stringify(found)?.slice(0, 300));
  return found;
});

/** Returns the colours of a canvas at these places, in device pixels. */
const colorsAt = (page, id, places) => page.evaluate(([which, all]) => {
  const canvas = document.getElementById(which);
  const size = { width: canvas.width, height: canvas.height };
  const flat = Object.assign(document.createElement('canvas'), size);
  const ctx = flat.getContext('2d');
  ctx.drawImage(canvas, 0, 0);
  const at = ([x, y]) => ctx.getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3);
  return all.map((place) => Array.from(at(place)));
}, [id, places]);

/** Returns the number of pixels of the 3-D view that have a colour. */
const pixelsOf = (page, color) => page.evaluate((wanted) => {
  const canvas = document.getElementById('scene');
  const size = { width: canvas.width, height: canvas.height };
  const flat = Object.assign(document.createElement('canvas'), size);
  const ctx = flat.getContext('2d');
  ctx.drawImage(canvas, 0, 0);
  const { data } = ctx.getImageData(0, 0, size.width, size.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (wanted.every((part, c) => data[i + c] === part)) count += 1;
  }
  return count;
}, color);

/** Returns the places of values in space on the canvas. */
const placesOf = (page, indices) =>
  page.evaluate((all) => all.map((index) => window.tcasmView.placeOf(index)), indices);

/** Moves the mouse to a place on a canvas, in device pixels, and clicks. */
async function clickAt(page, id, [x, y]) {
  const box = await page.locator(`#${id}`).boundingBox();
  const ratio = await page.evaluate(() => devicePixelRatio);
  await page.mouse.click(box.x + x / ratio, box.y + y / ratio);
}

/** Returns the colour of the map for a value in a range. */
const colorOf = (map, value, [low, high]) =>
  map[Math.min(255, Math.floor(((value - low) / (high - low)) * 256))];

const near = (a, b, most = 3) => a.every((part, i) => Math.abs(part - b[i]) <= most);

/** Returns the troubles that are not due to drawing without a graphics card. */
const troubles = (page) => page.troubles.filter((t) => !/GPU stall|GL Driver/.test(t));

test('particles in a plane are seen from above, in the colours of their values', async () => {
  const { page, server } = await showing('dots');
  const { viridis } = await colormaps(server);
  const found = await untilScene(page, (s) => s.points === 9);
  assert.deepEqual(found.values, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  const indices = found.values.map((i) => [i]);
  const places = await placesOf(page, indices);
  // x goes to the right, y goes up.
  assert.ok(places[2][0] > places[0][0] + 50 && places[6][1] < places[0][1] - 50, String(places));
  await eventually(async () => {
    const colors = await colorsAt(page, 'scene', places);
    colors.forEach((color, i) => {
      const right = colorOf(viridis, i, [0, 8]);
      assert.ok(near(color, right), `dot ${i} is ${color}, not ${right}`);
    });
  });
  await clickAt(page, 'scene', places[5]);
  await eventually(async () => {
    assert.deepEqual(await see(page, 'state.pin'), [5]);
    assert.match(await page.textContent('#pin-value'), /\[5\] = 5(\.0)?$/);
  });
  assert.ok(await page.locator('[data-view=slice]').isDisabled(), 'particles have no slice');
  assert.deepEqual(troubles(page), []);
});

test('a number of particles that changes keeps the camera, and none is said', async () => {
  const { page, producer } = await showing('speed');
  const first = await untilScene(page, (s) => s.points === 200);
  assert.equal(first.values[7], null);
  assert.equal(first.notFinite, 1);
  await eventually(async () => {
    assert.ok((await pixelsOf(page, INVALID)) > 10, 'particle 7 has the colour of NaN');
  });
  const box = await page.locator('#scene').boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 240, { steps: 3 });
  await page.mouse.up();
  const turned = await untilScene(page, (s) => s.camera.yaw !== first.camera.yaw);
  await page.selectOption('#range-mode', 'fixed');
  const range = await see(page, 'state.fixed');

  await producer.publish();
  const more = await untilScene(page, (s) => s.points === 300);
  assert.deepEqual(more.camera, turned.camera);
  assert.deepEqual([more.range.low, more.range.high], range);

  await producer.publish();
  await eventually(async () => {
    assert.equal(await see(page, 'shown.empty'), true);
    const text = await page.textContent('#message');
    assert.equal(text, 'There are no particles in this version.');
  });
  assert.equal(await page.textContent('#region-state'), 'running');

  await producer.publish();
  const again = await untilScene(page, (s) => s.points === 200);
  assert.deepEqual(again.camera, turned.camera);
  assert.ok(await page.locator('#message').isHidden());
  assert.deepEqual(troubles(page), []);
});

test('the caption says how many points and triangles are shown', async () => {
  const { page } = await showing('load');
  await untilScene(page, (s) => s.triangles > 0);
  const note = (scene) => page.evaluate(async (of) => {
    const module = await import('/assets/scene-data.js');
    return module.note({ invalid_points: 0, cells: true, ...of });
  }, scene);
  const surface = { triangles: 52, of: 52 };
  assert.equal(await note({ all: 6, points: 28, surface }), '');
  const coarse = { triangles: 300, of: 5200 };
  const merged = await note({ all: 600, points: 150, surface: coarse, invalid_points: 2 });
  assert.equal(
    merged,
    'coarser surface: 300 triangles for 5200, 2 points with invalid coordinates',
  );
  assert.equal(await note({ all: 600, points: 150, surface: null }), '150 of 600 cells');
});

test('axes of the box have their ends and the unit of the positions', async () => {
  const { page } = await showing('speed');
  const { box } = await untilScene(page);
  assert.ok(Math.abs(box.low[0] + 10) < 0.1 && Math.abs(box.high[0] - 10) < 0.1, String(box.low));
  assert.deepEqual(await see(page, 'state.region.meshes[0].units'), ['nm', 'nm', 'nm']);
});

test('the surface of cells is drawn with light, per point and per cell', async () => {
  const { page, server } = await showing('load');
  const { viridis } = await colormaps(server);
  const found = await untilScene(page, (s) => s.triangles > 0);
  assert.equal(found.triangles, 2 * (4 * 6 + 2));
  assert.deepEqual([...new Set(found.values)], [0, 1, 2, 3, 4, 5]);
  const places = await placesOf(page, [[0], [5]]);
  assert.ok(places[0][0] < places[1][0], 'the first cell is on the left');
  await page.click('#fields button:has-text("heat")');
  const perPoint = await untilScene(page, (s) => s.points === 28 && s.values.length === 28);
  assert.deepEqual([perPoint.range.low, perPoint.range.high], [0, 6]);
  // The side of the last cell that looks to the camera, with values 5 on the left and 6 on the
  // right. Its middle is shaded, so it is darker than the colour of 5.5.
  const corners = await placesOf(page, [[20], [23], [24], [27]]);
  const middle = [0, 1].map((c) => corners.reduce((sum, place) => sum + place[c] / 4, 0));
  await eventually(async () => {
    const [color] = await colorsAt(page, 'scene', [middle]);
    const full = colorOf(viridis, 5.5, [0, 6]);
    const light = color[1] / full[1];
    assert.ok(light > 0.3 && light < 1, `${color} is lit as ${light}`);
    assert.ok(near(color, full.map((part) => part * light), 6), `${color}, not as ${full}`);
  });
  await clickAt(page, 'scene', middle);
  await eventually(async () => {
    const pin = await see(page, 'state.pin');
    assert.ok(pin && [20, 23, 24, 27].includes(pin[0]), `a corner of the side, not ${pin}`);
  });
  assert.deepEqual(troubles(page), []);
});

test('a surface is drawn again after a field of another mesh', async () => {
  const { page } = await showing('load');
  const first = await untilScene(page, (s) => s.triangles > 0);
  await page.click('#fields button:has-text("strip")');
  await untilScene(page, (s) => s.triangles > 0 && s.triangles !== first.triangles);
  await page.click('#fields button:has-text("load")');
  const again = await untilScene(page, (s) => s.triangles === first.triangles);
  assert.deepEqual(again.values, first.values);
  assert.deepEqual(troubles(page), []);
});

test('cells that cannot be are said, and their points are drawn', async () => {
  const { page } = await showing('torn');
  const found = await untilScene(page, (s) => s.points === 4);
  assert.equal(found.triangles, 0);
  await eventually(async () => {
    const text = await page.textContent('#message');
    assert.match(text, /^Points are shown, not a surface: .* has the point 99; there are 4/);
  });
  assert.deepEqual(troubles(page), []);
});

/** Returns the places of coordinates on the slice, in device pixels. */
const onSlice = (page, all) => page.evaluate((coordinates) => {
  const { box, axes: [up, right] } = window.tcasmView.panels()[0];
  const share = ([low, high], x) => (x - low) / (high - low);
  return coordinates.map(([x, y]) => [
    box.x + share(right.ends, x) * box.width,
    box.y + (1 - share(up.ends, y)) * box.height,
  ]);
}, all);

/** Waits until a slice is drawn whose axes have these names. */
const untilSlice = (page, names) => eventually(async () => {
  const [panel] = await see(page, 'panels()');
  assert.ok(panel?.image, 'no image');
  assert.deepEqual(panel.axes.map(({ name }) => name), names);
  return panel;
});

test('samples of a rectilinear mesh are as wide as they are', async () => {
  const { page, server } = await showing('strip');
  const { viridis } = await colormaps(server);
  const panel = await untilSlice(page, ['y [m]', 'x [m]']);
  assert.deepEqual(panel.axes.map(({ ends }) => ends.map(Math.round)), [[0, 20], [0, 36]]);
  // Cell i reaches from i^2 to (i + 1)^2.
  const edges = [0, 1, 4, 9, 16, 25, 36];
  const places = edges.slice(1).flatMap((end, i) => [[edges[i] + 0.3, 10], [end - 0.3, 3]]);
  await eventually(async () => {
    const colors = await colorsAt(page, 'heat', await onSlice(page, places));
    colors.forEach((color, i) => {
      const right = colorOf(viridis, i >> 1, [0, 5]);
      assert.ok(near(color, right), `at ${places[i]}: ${color}, not ${right}`);
    });
  });
  const [place] = await onSlice(page, [[30, 10]]);
  await clickAt(page, 'heat', place);
  await eventually(async () => {
    assert.deepEqual((await see(page, 'state.pin'))[1], 5);
    assert.match(await page.textContent('#pin-value'), /= 5(\.0)?$/);
  });
  const { line } = await see(page, 'shown');
  assert.deepEqual(line.places, [0.5, 2.5, 6.5, 12.5, 20.5, 30.5]);
  assert.deepEqual(troubles(page), []);
});

test('samples of a curvilinear mesh lie on their ring, in the plane and in space', async () => {
  const { page, server } = await showing('tide');
  const { viridis } = await colormaps(server);
  await untilSlice(page, ['y [km]', 'x [km]']);
  const at = (radius, angle) => [radius * Math.cos(angle), radius * Math.sin(angle)];
  // The values are those of the four rows, which are at radii 1, 4/3, 5/3 and 2.
  const rows = [[1.05, 0], [1.3, 1], [1.7, 2], [1.95, 3]];
  const places = rows.flatMap(([radius, value]) =>
    [0.4, 1.5, 2.7].map((angle) => ({ place: at(radius, angle), value })));
  await eventually(async () => {
    const where = await onSlice(page, places.map(({ place }) => place));
    const colors = await colorsAt(page, 'heat', where);
    colors.forEach((color, i) => {
      const right = colorOf(viridis, places[i].value, [0, 3]);
      assert.ok(near(color, right), `at ${places[i].place}: ${color}, not ${right}`);
    });
  });
  // Inside of the ring there is nothing.
  const [hole] = await onSlice(page, [at(0.6, 1.5)]);
  const [empty] = await colorsAt(page, 'heat', [hole]);
  assert.ok(!viridis.some((color) => near(color, empty, 8)), `${empty} inside of the ring`);
  await clickAt(page, 'heat', hole);
  assert.equal(await see(page, 'state.pin'), null);
  await page.click('[data-view=volume]');
  const sheet = await untilScene(page, (s) => s.triangles > 0);
  assert.equal(sheet.triangles, 2 * 4 * 25);
  const [sample] = await placesOf(page, [[3, 12]]);
  await clickAt(page, 'scene', sample);
  await eventually(async () => assert.deepEqual(await see(page, 'state.pin'), [3, 12]));
  assert.deepEqual(troubles(page), []);
});
