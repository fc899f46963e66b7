// Helpers for tests with real programs and a real browser.

import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const bin = process.env.TCASM_BIN ?? new URL('../../target/release', import.meta.url).pathname;
const children = new Set();
/** The folder of the tests' regions, which no other program uses. */
const runtime = mkdtempSync(`${tmpdir()}/tcasm-web-`);
const env = { ...process.env, TCASM_RUNTIME_DIR: runtime };
const browsers = [];
let shared = null;
let count = 0;

/** Returns a name that no other test uses. */
export const regionName = (what) => `web-${what}-${process.pid}-${(count += 1)}`;

/** Starts a program and collects the lines that it prints. `more` is of its environment. */
function start(program, args, more = {}) {
  const stdio = ['pipe', 'pipe', 'pipe'];
  const child = spawn(`${bin}/${program}`, args, { env: { ...env, ...more }, stdio });
  const started = { child, lines: [], errors: '' };
  children.add(child);
  child.on('exit', () => children.delete(child));
  child.stdin.on('error', () => {});
  child.stderr.on('data', (data) => (started.errors += data));
  createInterface({ input: child.stdout }).on('line', (line) => started.lines.push(line));
  return started;
}

/** Ends a program and waits until it has exited. */
export async function end({ child }, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Starts `tcasm view NAME`. Returns {url, port, token, origin} and the program. */
export async function view(name, port = 0) {
  const program = start('tcasm', ['view', name, '--port', String(port)]);
  const url = await eventually(() => {
    const found = program.lines.join('\n').match(/http:\/\/\S+token=\w+/);
    if (!found) throw new Error(`tcasm view prints no address: ${program.lines} ${program.errors}`);
    return new URL(found[0]);
  });
  const token = new URLSearchParams(url.hash.slice(1)).get('token');
  return { ...program, url: url.href, origin: url.origin, port: Number(url.port), token };
}

/**
 * Starts the example `scene`, which publishes when `publish` is called. With `more`, "rare",
 * "meshes" or "blocks", it has more kinds of fields.
 */
export async function scene(name, history = 8, more = '') {
  const program = start('examples/scene', [name, String(history), ...(more ? [more] : [])]);
  let published = 0;
  const publish = async (times = 1) => {
    published += times;
    program.child.stdin.write('\n'.repeat(times));
    await eventually(() => {
      if (program.lines.length < published) {
        throw new Error(`${program.lines.length} versions of ${published}: ${program.errors}`);
      }
    });
  };
  const revoke = (pid) => program.child.stdin.write(`revoke ${pid}\n`);
  await publish();
  return { ...program, publish, revoke };
}

/** Start other producers. */
export const demo = (name, pause) =>
  start('tcasm', ['demo-producer', name, '--steps', '100000', '--pause', String(pause)]);
export const grayScott = (name, size, { every = 10, threads } = {}) => {
  const length = ['--steps', '1000000', '--publish-every', String(every)];
  const more = threads ? { RAYON_NUM_THREADS: String(threads) } : {};
  return start('gray_scott', ['--name', name, '--size', String(size), ...length], more);
};
export const particles = (name, size, { every }) => {
  const length = ['--steps', '100000000', '--every', String(every)];
  return start('md', ['--name', name, '--size', String(size), ...length]);
};

/** Runs `tcasm dump`. Returns {shape, values} with values in C order; complex numbers are pairs. */
export async function dump(name, field, version) {
  const which = version === undefined ? [] : ['--version', String(version)];
  const args = ['dump', name, field, '--npy', '-', ...which];
  const options = { env, encoding: 'buffer', maxBuffer: 1 << 28 };
  const { stdout } = await promisify(execFile)(`${bin}/tcasm`, args, options);
  return npy(stdout);
}

function npy(bytes) {
  const length = bytes.readUInt16LE(8);
  const head = bytes.subarray(10, 10 + length).toString('latin1');
  const sizes = head.match(/'shape': \(([^)]*)\)/)[1].split(',');
  const shape = sizes.filter((s) => s.trim()).map(Number);
  if (/'fortran_order': True/.test(head)) {
    throw new Error('the dump is in Fortran order; C order was expected');
  }
  const data = new Uint8Array(bytes.subarray(10 + length)).buffer;
  const values = /<(f8|c16)/.test(head) ? new Float64Array(data) : new Float32Array(data);
  return { shape, values };
}

/**
 * Options of Chromium for machines without a graphics card. The renderer for WebGL makes everything
 * else slow.
 */
const WITHOUT_CARD = ['--disable-gpu'];
const WEBGL = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

/** Starts the browser of the distribution. Fails if there is none. */
async function launch(...how) {
  const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const executablePath = [process.env.CHROMIUM, ...paths].find((p) => p && existsSync(p));
  if (!executablePath) {
    throw new Error('there is no Chromium: run ci/view.sh --install, or set CHROMIUM to its path');
  }
  const args = ['--no-sandbox', '--disable-dev-shm-usage', ...how];
  const browser = await chromium.launch({ executablePath, args });
  browsers.push(browser);
  return browser;
}

/** Returns the browser that tests share, unless they start another. */
const theBrowser = () => (shared ??= launch(...WITHOUT_CARD));

/** Start browsers with WebGL, and without it. */
export const withWebGl = () => launch(...WEBGL);
export const withoutWebGl = () => launch(...WITHOUT_CARD, '--disable-3d-apis');

/**
 * Starts a browser. Returns it, and a function that sends a signal to the processes of its pages.
 */
export async function ownBrowser() {
  const own = await launch(...WITHOUT_CARD);
  const session = await own.newBrowserCDPSession();
  const signal = async (which) => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const pages = processInfo.filter(({ type }) => type === 'renderer');
    if (pages.length === 0) throw new Error('the browser has no process for a page');
    for (const { id } of pages) process.kill(id, which);
  };
  return { own, signal };
}

/**
 * Opens a page in a new context. `page.troubles` collects its errors and warnings, `page.requests`
 * its requests.
 */
export async function open(url, { of = theBrowser(), ...options } = {}) {
  const viewport = { width: 1280, height: 800 };
  const context = await (await of).newContext({ viewport, ...options });
  const page = await context.newPage();
  Object.assign(page, { troubles: [], requests: [] });
  page.on('console', (m) => {
    // The tests read pixels back, which the page itself does not.
    if (m.text().startsWith('Canvas2D: Multiple readback operations')) return;
    if (['error', 'warning'].includes(m.type())) page.troubles.push(m.text());
  });
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.on('request', (request) => page.requests.push(request.url()));
  page.on('websocket', (socket) => page.requests.push(socket.url()));
  await fromFolder(page, process.env.TCASM_PAGE);
  await page.goto(url);
  return page;
}

/**
 * Serves the files of the page from a folder, instead of those in the program. Use it while the
 * page is being changed.
 */
async function fromFolder(page, folder) {
  if (!folder) return;
  const answer = (route, name) => route.fulfill({ path: `${folder}/${name}` });
  await page.route('**/assets/**', (route) => {
    const { pathname } = new URL(route.request().url());
    return answer(route, pathname.replace('/assets/', ''));
  });
}

/** Repeats `attempt` until it does not throw, for at most `timeout` milliseconds. */
export async function eventually(attempt, timeout = 15000) {
  const until = Date.now() + timeout;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}

/** Ends all browsers and programs that were started. */
export async function cleanUp() {
  await Promise.all(browsers.splice(0).map((browser) => browser.close()));
  shared = null;
  await Promise.all([...children].map((child) => end({ child }, 'SIGKILL')));
}

/** The same, and removes the folder of regions. Call it at the end of a file. */
export async function leave() {
  await cleanUp();
  rmSync(runtime, { recursive: true, force: true });
}

/** Returns data of `window.tcasmView`. */
export const see = (page, what) => page.evaluate(`window.tcasmView.${what}`);

/** Waits until this version is drawn. */
export const drawn = (page, version) => page.waitForFunction(
  (v) => window.tcasmView?.version?.version === v,
  version,
  { timeout: 15000 },
);

/** Waits until this field is chosen, and an image of it is drawn. */
export const showsField = (page, field) => page.waitForFunction(
  (f) => window.tcasmView.shown.field === f && window.tcasmView.panels()[0]?.image,
  field,
);

/** Returns the colours of the canvas at the middle of cells of a panel: [[r, g, b], ...]. */
export function pixels(page, cells, panel = 0) {
  return page.evaluate(({ cells: all, panel: which }) => {
    const { box, seen } = window.tcasmView.panels()[which];
    const ctx = document.getElementById('heat').getContext('2d');
    const [rows, cols] = [seen.rows[1] - seen.rows[0], seen.cols[1] - seen.cols[0]];
    const scale = [box.width / cols, box.height / rows];
    return all.map(([row, col]) => {
      const x = box.x + (col + 0.5 - seen.cols[0]) * scale[0];
      const y = box.y + box.height - (row + 0.5 - seen.rows[0]) * scale[1];
      return Array.from(ctx.getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3));
    });
  }, { cells, panel });
}

/** Returns the place of a cell in the window, in CSS pixels. */
export function place(page, row, col) {
  return page.evaluate(([r, c]) => {
    const [{ box, seen }] = window.tcasmView.panels();
    const canvas = document.getElementById('heat');
    const at = canvas.getBoundingClientRect();
    const [rows, cols] = [seen.rows[1] - seen.rows[0], seen.cols[1] - seen.cols[0]];
    const x = box.x + ((c + 0.5 - seen.cols[0]) / cols) * box.width;
    const y = box.y + box.height - ((r + 0.5 - seen.rows[0]) / rows) * box.height;
    return {
      x: at.left + (x * at.width) / canvas.width,
      y: at.top + (y * at.height) / canvas.height,
    };
  }, [row, col]);
}

/**
 * Waits until nothing moves on the page. Panels appear one by one, and change each other's place.
 */
export const settled = (page) => page.evaluate(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const places = () => {
    const heat = document.getElementById('heat').getBoundingClientRect();
    return JSON.stringify([window.tcasmView.panels().map((p) => p.box), heat]);
  };
  for (let [last, same] = ['', 0]; same < 12;) {
    await frame();
    same = places() === last ? same + 1 : 0;
    last = places();
  }
});

/** Returns the colour maps of the server: names with [[r, g, b], ...]. */
export async function colormaps({ origin }) {
  const all = await (await fetch(`${origin}/colormaps`)).json();
  const color = (c) => [0, 2, 4].map((i) => Number.parseInt(c.slice(i, i + 2), 16));
  const decode = (text) => text.match(/.{6}/g).map(color);
  return Object.fromEntries(Object.entries(all).map(([name, text]) => [name, decode(text)]));
}

/** Returns the name and the bytes of the file that the browser downloads after `click`. */
export async function downloaded(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}
