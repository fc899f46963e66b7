// Tests of sizes and names as text, without server or browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain } from '../assets/dom.js';
import { size } from '../assets/numbers.js';

test('sizes have binary units, as the command prints them', () => {
  const sizes = [0, 1023, 1024, 1500, 1023 * 1024, 4 << 20, 2 ** 40, 2 ** 60, null];
  assert.deepEqual(sizes.map(size), [
    '0 B', '1023 B', '1.00 KiB', '1.46 KiB', '1023.00 KiB', '4.00 MiB', '1.00 TiB', '1024.00 PiB',
    '–',
  ]);
});

test('control characters in names are not shown', () => {
  assert.equal(plain('a\n\x1b[31m\u202eb\x9b'), 'a\ufffd\ufffd[31m\ufffdb\ufffd');
  assert.equal(plain('python3'), 'python3');
});
