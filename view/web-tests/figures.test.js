// Writes the screenshots of the documentation to the folder in TCASM_FIGURES, if that is set.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import {
  leave, demo, end, eventually, grayScott, open, place, view, withWebGl,
} from './harness.js';

const folder = process.env.TCASM_FIGURES;
const skip = folder ? false : 'ci/view.sh --figures draws them';
const PHONE = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
  deviceScaleFactor: 2,
};

afterEach(leave);

/** Waits for the plots and writes a screenshot. */
async function picture(page, name) {
  await page.waitForTimeout(700);
  const path = `${folder}/view-${name}.png`;
  await page.screenshot({ path });
  if (existsSync('/usr/bin/pngquant')) {
    const how = ['--force', '--ext', '.png', '--skip-if-larger', '256', path];
    execFileSync('pngquant', how, { stdio: 'ignore' });
  }
}

const ready = (page) => page.waitForFunction(
  () => window.tcasmView?.panels()[0]?.image && window.tcasmView.series().length > 12,
  null,
  { timeout: 60000 },
);

test('slices, differences and a phone', { skip }, async () => {
  const name = 'pond';
  demo(name, 60);
  const server = await view(name);
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(server.url, { colorScheme });
    await ready(page);
    const { x, y } = await place(page, 128, 150);
    await page.mouse.click(x, y);
    await page.waitForTimeout(2500);
    await picture(page, `slice-${colorScheme}`);
    if (colorScheme === 'light') {
      await page.click('[data-view=compare]');
      await page.waitForFunction(() => window.tcasmView.panels()[2]?.image);
      await page.waitForTimeout(1200);
      await picture(page, 'difference');
    }
    await page.context().close();
  }
  const phone = await open(server.url, { ...PHONE, colorScheme: 'dark' });
  await ready(phone);
  await picture(phone, 'phone');
});

test('a volume', { skip }, async () => {
  const name = 'gray_scott';
  grayScott(name, 64);
  const page = await open((await view(name)).url, { of: withWebGl(), colorScheme: 'dark' });
  await ready(page);
  await page.click('#fields button:has-text("v")');
  await page.click('[data-view=volume]');
  await page.waitForFunction(
    () => window.tcasmView.volume && window.tcasmView.version.step >= 1500,
    null,
    { timeout: 90000 },
  );
  await picture(page, 'volume');
  await page.click('[data-render=iso]');
  await page.locator('#level').fill('0.6');
  await picture(page, 'surface');
});

test('waiting and lost', { skip }, async () => {
  const name = 'pond';
  const page = await open((await view(name)).url, { colorScheme: 'light' });
  await page.locator('#message').waitFor({ state: 'visible' });
  await picture(page, 'waiting');
  const producer = demo(name, 60);
  await ready(page);
  await end(producer, 'SIGKILL');
  await eventually(async () => {
    if ((await page.textContent('#region-state')) !== 'lost') throw new Error('not lost yet');
  });
  await picture(page, 'lost');
});
