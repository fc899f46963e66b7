// Opens a page for some seconds and prints the milliseconds from publish to pixels that it has
// measured: `node pixels.js URL SECONDS`. Prints "open" when the first version is drawn.

import { leave, open, see } from './harness.js';

const [url, seconds] = process.argv.slice(2);
try {
  const page = await open(url);
  await page.waitForFunction(() => window.tcasmView.panels()[0]?.image);
  const before = (await see(page, 'latencies')).length;
  console.log('open');
  await new Promise((resolve) => setTimeout(resolve, 1000 * Number(seconds)));
  console.log(JSON.stringify((await see(page, 'latencies')).slice(before)));
} finally {
  await leave();
}
