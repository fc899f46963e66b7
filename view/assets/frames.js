// Binary messages put together: what a frame leaves out is as it was.

/** Looks by their id, to know what a frame answers. */
const looks = new Map();

/** Remember what was asked. */
export function asked(look) {
  looks.set(look.id, look);
  for (const id of looks.keys()) {
    if (looks.size <= 64) break;
    looks.delete(id);
  }
}

/**
 * What is to be shown after this frame.
 * @param {object|null} before what was shown
 * @param {ArrayBuffer} buffer the frame
 */
export function apply(before, buffer) {
  const { head, body } = split(buffer);
  const look = looks.get(head.id) ?? before?.look;
  const same = before && before.field === head.field && before.component === head.component;
  const shown = { ...(same ? before : {}), frame: head.frame, id: head.id, error: head.error };
  Object.assign(shown, { field: head.field, component: head.component, look });
  // Nothing else comes with an error: what was shown stays.
  if (head.error) return shown;
  Object.assign(shown, { version: head.version, published: head.published_ms });
  if (head.image) shown.image = image(shown.image, head.image, body, look);
  shown.compare = compared(shown.compare, head.compare, body, look);
  const { line, volume, pages } = head;
  if (line) shown.line = { ...line, look, values: doubles(body, line.at, line.length) };
  if (volume) shown.volume = { ...volume, values: bytes(body, volume.at, product(volume.shape)) };
  if (pages) shown.pages = { ...pages, values: bytes(body, pages.at, pages.length) };
  for (const part of ['probe', 'moments', 'histogram']) {
    if (head[part]) shown[part] = { of: head.version, ...head[part] };
  }
  return shown;
}

/** Head and arrays of a message. */
function split(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return { head: JSON.parse(text), body: { buffer, start: 4 + length } };
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** Typed arrays want aligned bytes; a copy is, wherever the bytes were. */
function part(body, at, length) {
  const first = body.start + at;
  return body.buffer.slice(first, first + length);
}

const floats = (body, at, count) => new Float32Array(part(body, at, 4 * count));
const doubles = (body, at, count) => new Float64Array(part(body, at, 8 * count));
const bytes = (body, at, count) => new Uint8Array(part(body, at, count));

/** The second image: gone when nobody asks for it, and with an error in its place when its version is. */
function compared(before, head, body, look) {
  if (look?.compare == null) return undefined;
  if (!head) return before;
  if (head.error) return { error: head.error, version: head.version };
  return { ...image(before, head, body, look), version: head.version, error: null };
}

/** An image of which some tiles are new. */
function image(before, head, body, look) {
  const { rows, cols, tile, block, window, base } = head;
  const values = new Float32Array(rows * cols);
  if (before?.values?.length === values.length) values.set(before.values);
  const across = Math.ceil(cols / tile);
  let at = head.at;
  for (const number of head.tiles) {
    const top = Math.floor(number / across) * tile;
    const left = (number % across) * tile;
    const height = Math.min(tile, rows - top);
    const width = Math.min(tile, cols - left);
    const samples = floats(body, at, width * height);
    for (let row = 0; row < height; row += 1) {
      values.set(samples.subarray(row * width, (row + 1) * width), (top + row) * cols + left);
    }
    at += 4 * samples.length;
  }
  return { rows, cols, block, window, base, values, look, ...extent(values, base) };
}

/** Least, least positive, and greatest finite value; NaNs counted. */
export function extent(values, base) {
  let [min, max, positive, nans] = [Infinity, -Infinity, Infinity, 0];
  for (const sample of values) {
    const value = base + sample;
    if (Number.isNaN(value)) nans += 1;
    else if (Number.isFinite(value)) {
      if (value < min) min = value;
      if (value > max) max = value;
      if (value > 0 && value < positive) positive = value;
    }
  }
  return { min, max, positive, nans };
}

/** `image` minus `reference`, sample by sample, as an image; null where they are not of the same samples. */
export function difference(image, reference) {
  if (!image || !reference || reference.error) return null;
  const shape = (i) => JSON.stringify([i.rows, i.cols, i.block, i.window]);
  if (shape(image) !== shape(reference)) return null;
  const base = image.base - reference.base;
  const values = image.values.map((sample, i) => sample - reference.values[i]);
  return { ...image, base, values, ...extent(values, base) };
}
