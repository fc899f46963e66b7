// Tests of access control and its messages, and of the keyboard, the themes and a phone.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, request } from 'node:http';
import { after, test } from 'node:test';
import {
  leave, drawn, end, eventually, open, regionName, scene, see, showsField, view,
} from './harness.js';

after(leave);

async function server() {
  const name = regionName('access');
  const producer = await scene(name);
  return { name, producer, ...(await view(name)) };
}

/** Returns the status of a request for a WebSocket. */
function upgrade({ port }, query, headers = {}) {
  const socket = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  return new Promise((resolve, reject) => {
    const path = `/ws${query}`;
    const asked = request({ host: '127.0.0.1', port, path, headers: { ...socket, ...headers } });
    asked.on('upgrade', (answer, connection) => {
      connection.destroy();
      resolve(answer.statusCode);
    });
    asked.on('response', (answer) => resolve(answer.statusCode));
    asked.on('error', reject);
    asked.end();
  });
}

/** Starts a program at this port that answers greetings without knowing the key. */
async function pretender(port) {
  const [requests, messages, sockets] = [[], [], new Set()];
  const server = createServer((asked, answer) => {
    requests.push(`${asked.url} ${JSON.stringify(asked.headers)}`);
    answer.end();
  });
  server.on('upgrade', (asked, socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    requests.push(`${asked.url} ${JSON.stringify(asked.headers)}`);
    const key = `${asked.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write([
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${accept}`,
      '',
      '',
    ].join('\r\n'));
    let received = Buffer.alloc(0);
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      received = takeTexts(received, (text) => {
        messages.push(JSON.parse(text));
        const random = () => randomBytes(32).toString('hex');
        const lie = Buffer.from(JSON.stringify({
          type: 'proof',
          nonce: random(),
          process: random(),
          proof: random(),
        }));
        const head = Buffer.from([0x81, 126, lie.length >> 8, lie.length & 255]);
        socket.write(Buffer.concat([head, lie]));
      });
    });
  });
  await new Promise((resolve, reject) => {
    server.on('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const stop = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
    sockets.forEach((socket) => socket.destroy());
  });
  return { requests, messages, end: stop };
}

/** Takes the texts of complete frames of a client. Returns the bytes that are left. */
function takeTexts(bytes, take) {
  for (;;) {
    if (bytes.length < 6) return bytes;
    const short = bytes[1] & 127;
    const at = short === 126 ? 4 : 2;
    const length = short === 126 ? bytes.readUInt16BE(2) : short;
    if (bytes.length < at + 4 + length) return bytes;
    const mask = bytes.subarray(at, at + 4);
    const text = bytes.subarray(at + 4, at + 4 + length).map((byte, i) => byte ^ mask[i % 4]);
    if ((bytes[0] & 15) === 1) take(text.toString());
    bytes = bytes.subarray(at + 4 + length);
  }
}

const status = async (url, headers) => (await fetch(url, { headers })).status;

test('HTTP requests for regions need the right token', async () => {
  const { origin, token } = await server();
  assert.equal(await status(`${origin}/regions`), 403);
  for (const path of ['/', '/regions', '/colormaps', '/assets/main.js']) {
    assert.equal(await status(`${origin}${path}?token=${'0'.repeat(32)}`), 403, path);
    assert.equal(await status(`${origin}${path}?token=${token}`), 200, path);
  }
});

test('a WebSocket with a wrong token is refused', async () => {
  const running = await server();
  assert.equal(await upgrade(running, `?token=${'0'.repeat(32)}`), 403);
  assert.equal(await upgrade(running, `?token=${running.token}`), 101);
});

test('pages of other sites get nothing, even with the token', async () => {
  const running = await server();
  const query = `?token=${running.token}`;
  assert.equal(await upgrade(running, query, { Origin: 'http://evil.example' }), 403);
  assert.equal(await upgrade(running, query, { Origin: running.origin }), 101);
  const regions = `${running.origin}/regions${query}`;
  assert.equal(await status(regions, { Origin: 'http://evil.example' }), 403);
});

test('the page removes the token from its address, and sends and stores it nowhere', async () => {
  const { url, origin, token, producer } = await server();
  const page = await open('about:blank');
  const asked = [];
  page.on('request', (request) => {
    asked.push(request.url(), JSON.stringify(request.headers()), request.postData() ?? '');
  });
  const said = heard(page);
  await page.goto(url);
  await drawn(page, 1);
  assert.equal(page.url(), `${origin}/`);
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  for (const text of [...asked, ...said, kept]) assert.ok(!text.includes(token), text);
  assert.deepEqual(await page.context().cookies(), []);
  // A reload needs no token while the server runs.
  await page.reload();
  await drawn(page, 1);
  await producer.publish();
  await drawn(page, 2);
});

/** Returns the list of messages that the page sends over its WebSockets. */
function heard(page) {
  const said = [];
  page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => said.push(String(payload)));
  });
  return said;
}

test('a page without the token says what to do, and takes it from the address', async () => {
  const { url, origin } = await server();
  const page = await open(`${origin}/`);
  await page.waitForFunction(() =>
    /lacks its token/.test(document.getElementById('message').textContent));
  // Only the part after the `#` changes, so the browser does not load the page again.
  await page.goto(url);
  await drawn(page, 1);
});

test('a program that takes the port learns nothing; the page waits for its server', async () => {
  const name = regionName('impostor');
  const producer = await scene(name);
  const first = await view(name);
  const page = await open(first.url);
  await drawn(page, 1);
  const said = heard(page);
  await end(first, 'SIGKILL');
  const impostor = await pretender(first.port);
  await bannerSays(page, 'Another program answers');
  await eventually(() => assert.ok(impostor.messages.length > 1, String(impostor.messages)));
  for (const message of impostor.messages) {
    assert.deepEqual(
      [message.type, Object.keys(message).sort()],
      ['hello', ['key', 'nonce', 'type']],
    );
  }
  for (const text of [...impostor.requests, ...said]) {
    assert.ok(!text.includes(first.token) && !text.includes(name) && !/cookie/i.test(text), text);
  }
  const nonces = impostor.messages.map(({ nonce }) => nonce);
  assert.equal(new Set(nonces).size, nonces.length, 'each connection has its own nonce');
  await impostor.end();
  const second = await view(name, first.port);
  assert.equal(second.token, first.token);
  await producer.publish();
  await drawn(page, 2);
});

/** Waits until the banner contains this text. */
function bannerSays(page, text) {
  const contains = (t) => document.getElementById('banner').textContent.includes(t);
  return page.waitForFunction(contains, text, { timeout: 15000 });
}

test('a reloaded page does not accept the next server process without the token', async () => {
  const name = regionName('reloaded');
  await scene(name);
  const first = await view(name);
  const page = await open(first.url);
  await drawn(page, 1);
  await page.reload();
  await drawn(page, 1);
  await end(first, 'SIGKILL');
  const second = await view(name, first.port);
  await bannerSays(page, 'Open the address');
  await page.goto(second.url);
  await page.waitForFunction(
    () => document.getElementById('region-state').textContent === 'running',
    null,
    { timeout: 15000 },
  );
});

test('on a phone nothing is wider than the screen', async () => {
  const { url } = await server();
  const page = await open(url, {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    deviceScaleFactor: 2,
  });
  await drawn(page, 1);
  for (const [field, mode] of [['block', 'slice'], ['block', 'compare'], ['wind', 'slice']]) {
    await page.click(`#fields button:has-text("${field}")`);
    await page.click(`[data-view=${mode}]`);
    await showsField(page, field);
    const [width, screen] = await page.evaluate(() =>
      [document.documentElement.scrollWidth, innerWidth]);
    assert.equal(width, screen, `${field}, ${mode}`);
    assert.equal(screen, 390);
  }
  // A tap pins a point only after the image was drawn.
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
  const below = await page.evaluate((ids) => {
    const bottom = (id) => document.getElementById(id).getBoundingClientRect().bottom;
    return ids.filter((id) => bottom(id) > innerHeight);
  }, ['stage', 'line-chart', 'series-chart', 'histogram-chart', 'pages', 'bottom', 'producer']);
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
  await page.waitForTimeout(300); // A dialog that closes takes keys for another moment.
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
  const controls = 'button, input, select, summary, canvas[role]';
  const nameless = await page.$$eval(controls, (all) => {
    const label = (e) => e.getAttribute('aria-label') || e.textContent.trim();
    const named = (e) => label(e) || e.labels?.length || e.getAttribute('aria-hidden');
    return all.filter((e) => !named(e)).map((e) => e.outerHTML);
  });
  assert.deepEqual(nameless, []);
});
