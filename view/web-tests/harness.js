// Real programs, a real browser, and what both say.

import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const bin = process.env.TCASM_BIN ?? new URL('../../target/release', import.meta.url).pathname;
const children = new Set();
/** Regions of the tests are nobody else's. */
const runtime = mkdtempSync(`${tmpdir()}/tcasm-web-`);
const env = { ...process.env, TCASM_RUNTIME_DIR: runtime };
const browsers = [];
let shared = null;
let count = 0;

/** A name that no other test has. */
export const regionName = (what) => `web-${what}-${process.pid}-${(count += 1)}`;

/** Start a program; its lines are kept. */
function start(program, args) {
  const child = spawn(`${bin}/${program}`, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const started = { child, lines: [], errors: '' };
  children.add(child);
  child.on('exit', () => children.delete(child));
  child.stdin.on('error', () => {});
  child.stderr.on('data', (data) => (started.errors += data));
  createInterface({ input: child.stdout }).on('line', (line) => started.lines.push(line));
  return started;
}

/** End a program, and wait until it has gone. */
export async function end({ child }, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** `tcasm view NAME`: {url, port, token, origin} */
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

/** The steerable simulation, which publishes when it is told to; `rare`: with fields of kinds that few have. */
export async function scene(name, history = 8, rare = false) {
  const program = start('examples/scene', [name, String(history), ...(rare ? ['rare'] : [])]);
  let published = 0;
  const publish = async (times = 1) => {
    published += times;
    program.child.stdin.write('\n'.repeat(times));
    await eventually(() => {
      if (program.lines.length < published) throw new Error(`${program.lines.length} versions of ${published}: ${program.errors}`);
    });
  };
  const oust = (pid) => program.child.stdin.write(`oust ${pid}\n`);
  await publish();
  return { ...program, publish, oust };
}

/** Other producers. */
export const demo = (name, pause) => start('tcasm', ['demo-producer', name, '--steps', '100000', '--pause', String(pause)]);
export const grayScott = (name, size) =>
  start('gray_scott', ['--name', name, '--size', String(size), '--steps', '1000000', '--publish-every', '10']);

/** `tcasm dump`: {shape, values}, values in C order; complex numbers are pairs. */
export async function dump(name, field, version) {
  const args = ['dump', name, field, '--npy', '-', ...(version === undefined ? [] : ['--version', String(version)])];
  const { stdout } = await promisify(execFile)(`${bin}/tcasm`, args, { env, encoding: 'buffer', maxBuffer: 1 << 28 });
  return npy(stdout);
}

function npy(bytes) {
  const length = bytes.readUInt16LE(8);
  const head = bytes.subarray(10, 10 + length).toString('latin1');
  const shape = head.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((s) => s.trim()).map(Number);
  if (/'fortran_order': True/.test(head)) throw new Error('a dump in the order of Fortran');
  const data = new Uint8Array(bytes.subarray(10 + length)).buffer;
  const values = /<(f8|c16)/.test(head) ? new Float64Array(data) : new Float32Array(data);
  return { shape, values };
}

/** How Chromium draws without a graphics card: all but WebGL at once, WebGL by a renderer that makes everything else slow. */
const WITHOUT_CARD = ['--disable-gpu'];
const WEBGL = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

/** The distribution's browser; a test without one fails. */
async function launch(...how) {
  const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));
  if (!executablePath) throw new Error('no Chromium: install it (apt-get install chromium), or say where it is (CHROMIUM=PATH)');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...how] });
  browsers.push(browser);
  return browser;
}

/** The one that tests share, unless they want another. */
const theBrowser = () => (shared ??= launch(...WITHOUT_CARD));

/** Browsers of their own: with WebGL, and where WebGL is not to be had. */
export const withWebGl = () => launch(...WEBGL);
export const withoutWebGl = () => launch(...WITHOUT_CARD, '--disable-3d-apis');

/** A browser of its own, and a function that sends a signal to the processes of its pages. */
export async function ownBrowser() {
  const own = await launch(...WITHOUT_CARD);
  const session = await own.newBrowserCDPSession();
  const signal = async (which) => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const pages = processInfo.filter(({ type }) => type === 'renderer');
    if (pages.length === 0) throw new Error('this browser has no page');
    for (const { id } of pages) process.kill(id, which);
  };
  return { own, signal };
}

/** A page in a context of its own. What goes wrong in it is in `page.troubles`, what it asked for in `page.requests`. */
export async function open(url, { of = theBrowser(), ...options } = {}) {
  const context = await (await of).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  Object.assign(page, { troubles: [], requests: [] });
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && page.troubles.push(m.text()));
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.on('request', (request) => page.requests.push(request.url()));
  page.on('websocket', (socket) => page.requests.push(socket.url()));
  await fromFolder(page, process.env.TCASM_PAGE);
  await page.goto(url);
  return page;
}

/** While the page is being written: its files from a folder, not from the program. */
async function fromFolder(page, folder) {
  if (!folder) return;
  const answer = (route, name) => route.fulfill({ path: `${folder}/${name}` });
  await page.route('**/assets/**', (route) => answer(route, new URL(route.request().url()).pathname.replace('/assets/', '')));
}

/** Try until it works. */
export async function eventually(attempt, patience = 15000) {
  const until = Date.now() + patience;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}

/** End all that was started. */
export async function cleanUp() {
  await Promise.all(browsers.splice(0).map((browser) => browser.close()));
  shared = null;
  await Promise.all([...children].map((child) => end({ child }, 'SIGKILL')));
}

/** At the very end of a file: the regions' folder, too. */
export async function leave() {
  await cleanUp();
  rmSync(runtime, { recursive: true, force: true });
}

/** What `window.tcasmView` says. */
export const see = (page, what) => page.evaluate(`window.tcasmView.${what}`);

/** Wait until this version is drawn. */
export const drawn = (page, version) => page.waitForFunction((v) => window.tcasmView?.version?.version === v, version, { timeout: 15000 });

/** Colours of the canvas at the middle of cells of a panel: [[r, g, b], ...] */
export function pixels(page, cells, panel = 0) {
  return page.evaluate(({ cells: all, panel: which }) => {
    const { box, seen } = window.tcasmView.panels()[which];
    const ctx = document.getElementById('heat').getContext('2d');
    const scale = [box.width / (seen.cols[1] - seen.cols[0]), box.height / (seen.rows[1] - seen.rows[0])];
    return all.map(([row, col]) => {
      const x = box.x + (col + 0.5 - seen.cols[0]) * scale[0];
      const y = box.y + box.height - (row + 0.5 - seen.rows[0]) * scale[1];
      return Array.from(ctx.getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3));
    });
  }, { cells, panel });
}

/** Where to point at to hit a cell, in CSS pixels of the window. */
export function place(page, row, col) {
  return page.evaluate(([r, c]) => {
    const [{ box, seen }] = window.tcasmView.panels();
    const canvas = document.getElementById('heat');
    const at = canvas.getBoundingClientRect();
    const x = box.x + ((c + 0.5 - seen.cols[0]) / (seen.cols[1] - seen.cols[0])) * box.width;
    const y = box.y + box.height - ((r + 0.5 - seen.rows[0]) / (seen.rows[1] - seen.rows[0])) * box.height;
    return { x: at.left + (x * at.width) / canvas.width, y: at.top + (y * at.height) / canvas.height };
  }, [row, col]);
}

/** Wait until nothing moves on the page any more: panels arrive one by one, and make room for each other. */
export const settled = (page) => page.evaluate(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const places = () => JSON.stringify([window.tcasmView.panels().map((p) => p.box), document.getElementById('heat').getBoundingClientRect()]);
  for (let [last, same] = ['', 0]; same < 12;) {
    await frame();
    same = places() === last ? same + 1 : 0;
    last = places();
  }
});

/** The colour maps of the server: name to [[r, g, b], ...]. */
export async function colormaps({ origin }) {
  const all = await (await fetch(`${origin}/colormaps`)).json();
  const decode = (text) => text.match(/.{6}/g).map((c) => [0, 2, 4].map((i) => Number.parseInt(c.slice(i, i + 2), 16)));
  return Object.fromEntries(Object.entries(all).map(([name, text]) => [name, decode(text)]));
}

/** Text of a file that the browser downloads when `click` is done. */
export async function downloaded(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}
