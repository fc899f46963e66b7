// Tests of servers and producers that start, end, are killed, and start again.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  demo, leave, drawn, end, eventually, open, ownBrowser, regionName, scene, see, view,
} from './harness.js';

after(leave);

const stateIs = (page, how) => page.waitForFunction(
  (s) => document.getElementById('region-state').textContent === s,
  how,
  { timeout: 15000 },
);

test('the page waits for a region that does not exist yet', async () => {
  const name = regionName('later');
  const page = await open((await view(name)).url);
  await stateIs(page, 'waiting');
  const message = page.locator('#message');
  await message.waitFor({ state: 'visible' });
  assert.match(await message.textContent(), new RegExp(name));
  await scene(name);
  await drawn(page, 1);
  await stateIs(page, 'running');
  await message.waitFor({ state: 'hidden' });
});

test('the page finds its server again after a kill and a restart', async () => {
  const name = regionName('again');
  const producer = await scene(name);
  const first = await view(name);
  const page = await open(first.url);
  await drawn(page, 1);
  await end(first, 'SIGKILL');
  await stateIs(page, 'disconnected');
  assert.match(await page.textContent('#banner'), /Disconnected/);
  assert.equal((await see(page, 'version')).version, 1, 'the last image stays');
  const second = await view(name, first.port);
  assert.equal(second.token, first.token);
  await stateIs(page, 'running');
  await producer.publish();
  await drawn(page, 2);
});

test('a killed producer is lost, its last version stays, its next run is picked up', async () => {
  const name = regionName('killed');
  const producer = await scene(name);
  const page = await open((await view(name)).url);
  await producer.publish(3);
  await drawn(page, 4);
  await end(producer, 'SIGKILL');
  await stateIs(page, 'lost');
  assert.match(await page.textContent('#banner'), /died.*last version/);
  assert.equal((await see(page, 'version')).version, 4);
  await page.locator('#planes, #colormap').first().waitFor({ state: 'attached' });
  await page.click('#fields button:has-text("wind")');
  await page.waitForFunction(() => {
    const [panel] = window.tcasmView.panels();
    return panel?.title === '|wind|' && panel.image;
  });
  const next = await scene(name);
  await stateIs(page, 'running');
  await drawn(page, 1);
  await next.publish();
  await drawn(page, 2);
});

test('if a new run lacks the chosen field, the page shows another field and a notice', async () => {
  const name = regionName('lacks');
  const producer = await scene(name);
  const page = await open((await view(name)).url);
  await page.click('#fields button:has-text("wind")');
  await page.waitForFunction(() => window.tcasmView.shown.field === 'wind');
  await end(producer, 'SIGKILL');
  await stateIs(page, 'lost');
  demo(name, 300);
  await stateIs(page, 'running');
  await page.waitForFunction(
    () => window.tcasmView.shown.field === 'height' && window.tcasmView.panels()[0]?.image,
    null,
    { timeout: 15000 },
  );
  const banner = await page.textContent('#banner');
  assert.match(banner, /no field “wind” any more; this is “height”/);
  assert.deepEqual(page.troubles, []);
});

test('a view whose lease is revoked attaches again and shows the newest version', async () => {
  const name = regionName('revoked');
  const producer = await scene(name);
  const server = await view(name);
  const page = await open('about:blank');
  const told = [];
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => {
    if (typeof payload === 'string') told.push(JSON.parse(payload).state);
  }));
  await page.goto(server.url);
  await drawn(page, 1);
  producer.revoke(server.child.pid);
  await eventually(() => assert.ok(told.includes('revoked'), String(told)));
  await stateIs(page, 'running');
  await producer.publish(2);
  await drawn(page, 3);
});

test('a stopped page delays no other, and shows the newest version when it goes on', async () => {
  const name = regionName('stopped');
  const producer = await scene(name);
  const server = await view(name);
  const { own, signal } = await ownBrowser();
  const [stopped, other] = [await open(server.url, { of: own }), await open(server.url)];
  await Promise.all([stopped, other].map((page) => drawn(page, 1)));
  await signal('SIGSTOP');
  try {
    for (let version = 2; version <= 12; version += 1) {
      await producer.publish();
      await drawn(other, version);
    }
  } finally {
    await signal('SIGCONT');
  }
  await drawn(stopped, 12);
});

test('the page shows that the producer has ended, and keeps the last version', async () => {
  const name = regionName('ended');
  const producer = await scene(name);
  const page = await open((await view(name)).url);
  await drawn(page, 1);
  producer.child.stdin.end();
  await stateIs(page, 'ended');
  assert.equal((await see(page, 'version')).version, 1);
});

test('a click shows another region', async () => {
  const [one, other] = [regionName('one'), regionName('other')];
  await scene(one);
  const second = await scene(other);
  await second.publish(2);
  const page = await open((await view(one)).url);
  await drawn(page, 1);
  await page.click(`#regions button:has-text("${other}")`);
  await drawn(page, 3);
  assert.equal(await page.textContent('#region-name'), other);
});

test('ten pages at once all show the newest version', async () => {
  const name = regionName('ten');
  const producer = await scene(name);
  const server = await view(name);
  const viewport = { width: 800, height: 600 };
  const pages = await Promise.all(Array.from({ length: 10 }, () => open(server.url, { viewport })));
  await Promise.all(pages.map((page) => drawn(page, 1)));
  await producer.publish(5);
  await Promise.all(pages.map((page) => drawn(page, 6)));
  await eventually(async () => assert.equal((await see(pages[0], 'state')).region.clients, 10));
  await Promise.all(pages.map((page) => page.context().close()));
});

test('the page confirms each frame after drawing it', async () => {
  const name = regionName('got');
  const producer = await scene(name);
  const page = await open('about:blank');
  const [given, got] = [[], []];
  page.on('websocket', (socket) => {
    socket.on('framereceived', ({ payload }) => {
      if (typeof payload === 'string') return;
      const head = payload.subarray(4, 4 + payload.readUInt32LE(0));
      given.push(JSON.parse(head).frame);
    });
    socket.on('framesent', ({ payload }) => {
      const message = JSON.parse(payload);
      if (message.type === 'drawn') got.push(message.frame);
    });
  });
  await page.goto((await view(name)).url);
  await drawn(page, 1);
  await producer.publish();
  await drawn(page, 2);
  await eventually(() => {
    const all = given.every((frame) => got.includes(frame));
    assert.ok(given.length >= 2 && all, `${given} given, ${got} got`);
  });
});
