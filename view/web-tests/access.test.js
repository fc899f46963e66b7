// Who may look, and how the page tells who may not; the keyboard, the themes, a phone.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, test } from 'node:test';
import { leave, drawn, eventually, open, regionName, scene, see, view } from './harness.js';

after(leave);

async function server() {
  const name = regionName('access');
  const producer = await scene(name);
  return { name, producer, ...(await view(name)) };
}

/** The status of an attempt to open a WebSocket. */
function upgrade({ port }, query, headers = {}) {
  const socket = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: `/ws${query}`, headers: { ...socket, ...headers } });
    asked.on('upgrade', (answer, connection) => {
      connection.destroy();
      resolve(answer.statusCode);
    });
    asked.on('response', (answer) => resolve(answer.statusCode));
    asked.on('error', reject);
    asked.end();
  });
}

const status = async (url, headers) => (await fetch(url, { headers })).status;

test('without the token, or with a wrong one, nothing is told', async () => {
  const { origin, token } = await server();
  for (const path of ['/', '/regions', '/colormaps', '/assets/main.js']) {
    assert.equal(await status(origin + path), 403, path);
    assert.equal(await status(`${origin}${path}?token=${'0'.repeat(32)}`), 403, path);
    assert.equal(await status(`${origin}${path}?token=${token}`), 200, path);
  }
});

test('nor over the WebSocket', async () => {
  const running = await server();
  assert.equal(await upgrade(running, ''), 403);
  assert.equal(await upgrade(running, `?token=${'0'.repeat(32)}`), 403);
  assert.equal(await upgrade(running, `?token=${running.token}`), 101);
});

test('pages of other sites get nothing, even with the cookie', async () => {
  const running = await server();
  const cookie = `tcasm_view_${new URL(running.origin).port}=${running.token}`;
  assert.equal(await upgrade(running, '', { cookie, Origin: 'http://evil.example' }), 403);
  assert.equal(await upgrade(running, '', { cookie, Origin: running.origin }), 101);
  assert.equal(await status(`${running.origin}/regions`, { cookie, Origin: 'http://evil.example' }), 403);
});

test('a page whose cookie has gone says what to do', async () => {
  const { url, child } = await server();
  const page = await open(url);
  await drawn(page, 1);
  await page.context().clearCookies();
  child.kill('SIGSTOP');
  child.kill('SIGCONT');
  await page.evaluate(() => fetch('/regions'));
  await page.waitForFunction(() => /lacks its token/.test(document.getElementById('message').textContent), null, { timeout: 15000 });
});

test('on a phone nothing is wider than the screen', async () => {
  const { url } = await server();
  const page = await open(url, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
  await drawn(page, 1);
  for (const [field, mode] of [['block', 'slice'], ['block', 'compare'], ['wind', 'slice']]) {
    await page.click(`#fields button:has-text("${field}")`);
    await page.click(`[data-view=${mode}]`);
    await page.waitForFunction((f) => window.tcasmView.shown.field === f && window.tcasmView.panels()[0]?.image, field);
    const [width, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.equal(width, screen, `${field}, ${mode}`);
    assert.equal(screen, 390);
  }
  // Until something is drawn there is nothing to pin.
  await eventually(async () => {
    const box = await page.locator('#heat').boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    assert.ok(await see(page, 'state.pin'));
  });
});

test('at 1280 by 800 everything is on the screen', async () => {
  const { url } = await server();
  const page = await open(url);
  await drawn(page, 1);
  const below = await page.evaluate(() => ['stage', 'line-chart', 'series-chart', 'histogram-chart', 'pages', 'bottom', 'producer']
    .filter((id) => document.getElementById(id).getBoundingClientRect().bottom > innerHeight));
  assert.deepEqual(below, []);
});

test('the keyboard does what its list says, and the theme stays', async () => {
  const { url } = await server();
  const page = await open(url, { colorScheme: 'light' });
  await drawn(page, 1);
  await page.keyboard.press('?');
  assert.ok((await page.locator('#shortcuts dt').count()) >= 10);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement === document.body);
  await page.waitForTimeout(300); // a dialog that closes takes the keys for a moment longer
  await page.keyboard.press(' ');
  assert.equal((await see(page, 'state')).version, 1);
  await page.keyboard.press('+');
  assert.ok((await see(page, 'state')).window.zoom > 1);
  await page.keyboard.press('0');
  assert.equal((await see(page, 'state')).window, null);
  await page.keyboard.press('t');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  await page.reload();
  await drawn(page, 1);
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
});

test('every control has a name', async () => {
  const { url } = await server();
  const page = await open(url);
  await drawn(page, 1);
  const nameless = await page.$$eval('button, input, select, summary, canvas[role]', (all) =>
    all.filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.getAttribute('aria-hidden'))).map((e) => e.outerHTML));
  assert.deepEqual(nameless, []);
});
