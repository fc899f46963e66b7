// Writes the screenshots of the documentation to the folder in TCASM_FIGURES, if that is set.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import {
  leave, demo, end, eventually, grayScott, open, particles, place, see, view, withWebGl,
} from './harness.js';

const folder = process.env.TCASM_FIGURES;
const skip = folder ? false : 'ci/view.sh --figures draws them';
const PHONE = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
  deviceScaleFactor: 2,
};

/** The pause between versions of the pond, in milliseconds. A picture is taken within one. */
const PAUSE = 700;
/** Most milliseconds from publish to pixels on a picture. */
const LATENCY = 200;
/** Time for the picture of a version that all parts of the page agree on, in milliseconds. */
const TIMEOUT = 90000;

afterEach(leave);

/** Returns the version of each part of the page, and the latency, if there is one. */
const parts = (page) => page.evaluate(() => {
  const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const named = (selector) => Number(text(selector).match(/version (\d+)/)?.[1]);
  const { state, shown, version, volume } = window.tcasmView;
  const isLive = state.version === null;
  const versions = {
    picture: version?.version,
    volume: state.view === 'volume' ? volume?.version : undefined,
    header: named('#stamp'),
    timeline: named('#position'),
    tick: isLive ? Number(text('#ticks .now')) : undefined,
    producer: isLive ? state.region?.versions.at(-1) : undefined,
    moments: shown.moments?.version.version,
    histogram: shown.histogram?.version.version,
  };
  const running = state.region?.state === 'running';
  return { versions, latency: running && isLive ? Number.parseFloat(text('#latency')) : 0 };
});

/** Returns the version that all parts of the page show. Fails if they differ or are late. */
async function agreed(page) {
  const { versions, latency } = await parts(page);
  const shown = Object.values(versions).filter((version) => version !== undefined);
  const said = JSON.stringify({ ...versions, latency });
  assert.ok(new Set(shown).size === 1 && latency < LATENCY, said);
  return shown[0];
}

/** Writes a screenshot. */
function write(image, name) {
  const path = `${folder}/view-${name}.png`;
  writeFileSync(path, image);
  if (existsSync('/usr/bin/pngquant')) {
    const how = ['--force', '--ext', '.png', '--skip-if-larger', '256', path];
    execFileSync('pngquant', how, { stdio: 'ignore' });
  }
}

/** Waits until the page has drawn what it knows, and measured how late that was. */
const painted = (page) => page.evaluate(async () => {
  for (let i = 0; i < 4; i += 1) await new Promise((done) => requestAnimationFrame(done));
});

/** Writes a picture on which all parts of the page show the same version, in time. */
async function picture(page, name) {
  const image = await eventually(async () => {
    const version = await agreed(page);
    await painted(page);
    assert.equal(await agreed(page), version, 'another version came');
    const taken = await page.screenshot();
    assert.equal(await agreed(page), version, 'another version came meanwhile');
    return taken;
  }, TIMEOUT);
  write(image, name);
}

/** Waits until the page shows a step that is not before `step`, and the plots have points. */
const untilStep = (page, step) => page.waitForFunction(
  (least) => window.tcasmView?.version?.step >= least && window.tcasmView.series().length > 4,
  step,
  { timeout: 150000 },
);

test('slices, differences and a phone', { skip }, async () => {
  const name = 'pond';
  demo(name, PAUSE);
  const server = await view(name);
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(server.url, { colorScheme });
    await untilStep(page, 90);
    const { x, y } = await place(page, 128, 150);
    await page.mouse.click(x, y);
    const { step } = await see(page, 'version');
    await untilStep(page, step + 12); // the value at the point gets a curve
    await picture(page, `slice-${colorScheme}`);
    if (colorScheme === 'light') {
      await page.click('[data-view=compare]');
      await page.waitForFunction(() => window.tcasmView.panels()[2]?.image);
      const reference = await see(page, 'version');
      await untilStep(page, reference.step + 15);
      await picture(page, 'difference');
    }
    await page.context().close();
  }
  const phone = await open(server.url, { ...PHONE, colorScheme: 'dark' });
  await untilStep(phone, 90);
  await picture(phone, 'phone');
});

test('a volume', { skip }, async () => {
  const name = 'gray_scott';
  // The browser draws without a graphics card, and needs the other processors for it.
  grayScott(name, 64, { every: 400, threads: 1 });
  const page = await open((await view(name)).url, { of: withWebGl(), colorScheme: 'dark' });
  await page.click('#fields button:has-text("v")');
  await page.click('[data-view=volume]');
  await untilStep(page, 2400);
  await page.waitForFunction(() => window.tcasmView.volume);
  // Without a graphics card the browser takes seconds for a volume, and other versions come.
  await page.click('#live');
  await picture(page, 'volume');
});

test('particles', { skip }, async () => {
  const name = 'md';
  particles(name, 10, { every: 1000 });
  const page = await open((await view(name)).url, { of: withWebGl(), colorScheme: 'dark' });
  await page.click('#fields button:has-text("velocity")');
  await page.waitForFunction(() => window.tcasmView.scene?.points > 0);
  await untilStep(page, 8000);
  await picture(page, 'particles');
});

test('waiting and lost', { skip }, async () => {
  const name = 'pond';
  const page = await open((await view(name)).url, { colorScheme: 'light' });
  await page.locator('#message').waitFor({ state: 'visible' });
  write(await page.screenshot(), 'waiting');
  const producer = demo(name, PAUSE);
  await untilStep(page, 30);
  await eventually(() => agreed(page), TIMEOUT);
  await end(producer, 'SIGKILL');
  await eventually(async () => {
    if ((await page.textContent('#region-state')) !== 'lost') throw new Error('not lost yet');
  });
  await picture(page, 'lost');
});
