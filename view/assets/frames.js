// Decodes frames. A part that a frame leaves out stays as the page has it.

/** View requests by id, to know which request a frame answers. */
const requests = new Map();

/** Remembers a request that was sent. Keeps the last 64. */
export function asked(request) {
  requests.set(request.id, request);
  for (const id of requests.keys()) {
    if (requests.size <= 64) break;
    requests.delete(id);
  }
}

/**
 * Returns the data to show after this frame.
 * @param {object|null} before the data before
 * @param {ArrayBuffer} buffer the frame
 */
export function apply(before, buffer) {
  const { head, body } = split(buffer);
  const request = requests.get(head.id) ?? before?.request;
  const same = before && before.field === head.field && before.component === head.component;
  const shown = { ...(same ? before : {}), frame: head.frame, id: head.id, error: head.error };
  Object.assign(shown, { field: head.field, component: head.component, request });
  // A frame with an error has no data, and the data before stays.
  if (head.error) return shown;
  Object.assign(shown, { version: head.version, published: head.published_ms });
  shown.empty = Boolean(head.shape?.includes(0));
  // Without values, there is nothing to show. The data before stays: the server does not send it
  // again.
  if (shown.empty) return shown;
  if (head.axes) Object.assign(shown, { axes: head.axes, cells: head.shape });
  if (head.image) {
    shown.image = image(shown.image, head.image, body, request);
    shown.grid = head.grid ? grid(shown.grid, head.grid, body) : null;
  }
  if (head.blocks) shown.blocks = blocks(shown.blocks, head.blocks, body, request);
  if (head.scene) shown.scene = scene(shown.scene, head.scene, body);
  shown.compare = compared(shown.compare, head.compare, body, request);
  const { line, volume, pages } = head;
  if (line) shown.line = { ...line, request, ...alongLine(body, line) };
  if (volume) shown.volume = { ...volume, values: bytes(body, volume.at, product(volume.shape)) };
  if (pages) shown.pages = { ...pages, values: bytes(body, pages.at, pages.length) };
  for (const part of ['probe', 'moments', 'histogram']) {
    if (head[part]) shown[part] = { of: head.version, ...head[part] };
  }
  return shown;
}

/** Splits a message into its head and its arrays. */
function split(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return { head: JSON.parse(text), body: { buffer, start: 4 + length } };
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** Copies bytes out of a message. Typed arrays need aligned bytes, and a copy is aligned. */
function part(body, at, length) {
  const first = body.start + at;
  return body.buffer.slice(first, first + length);
}

const floats = (body, at, count) => new Float32Array(part(body, at, 4 * count));
const doubles = (body, at, count) => new Float64Array(part(body, at, 8 * count));
const integers = (body, at, count) => new Uint32Array(part(body, at, 4 * count));
const bytes = (body, at, count) => new Uint8Array(part(body, at, count));

/**
 * Returns the image to compare with: undefined if the request has none, an error if its version is
 * gone.
 */
function compared(before, head, body, request) {
  if (request?.compare == null) return undefined;
  if (!head) return before;
  if (head.error) return { error: head.error, version: head.version };
  return { ...image(before, head, body, request), version: head.version, error: null };
}

/**
 * Returns the values of a line, with an envelope the least and greatest of their blocks, and their
 * coordinates if the mesh has such.
 */
function alongLine(body, { at, length, envelope, places }) {
  const array = (number) => doubles(body, at + 8 * length * number, length);
  const ends = envelope ? { low: array(1), high: array(2) } : { low: null, high: null };
  return { values: array(0), ...ends, places: places ? array(envelope ? 3 : 1) : null };
}

/** Returns the array at `at`, or the array before if the frame does not have it. */
const kept = (read, body, at, count, before) => (at === null ? before : read(body, at, count));

/** Returns the corners of samples: three coordinates each, relative to an origin. */
function grid(before, head, body) {
  const count = 3 * head.rows * head.cols;
  return { ...head, corners: kept(floats, body, head.corners, count, before?.corners) };
}

/** Returns points or a surface with their values, and the range of all values of the field. */
function scene(before, head, body) {
  const { points, surface, base } = head;
  const last = before?.triangles;
  const triangles = surface && {
    corners: kept(integers, body, surface.corners, 3 * surface.triangles, last?.corners),
    cells: kept(integers, body, surface.cells, surface.triangles, last?.cells),
  };
  const count = surface && head.cells ? surface.triangles : points;
  const values = kept(floats, body, head.values, count, before?.values);
  return {
    ...head,
    positions: kept(floats, body, head.positions, 3 * points, before?.positions),
    numbers: kept(integers, body, head.numbers, points, before?.numbers),
    triangles,
    values,
    min: head.min ?? Infinity,
    max: head.max ?? -Infinity,
    positive: extent(values, base).positive,
  };
}

/** Returns the images of the blocks of a whole, and the range of all values of its used blocks. */
function blocks(before, head, body, request) {
  const last = new Map(before?.images.map((block) => [block.mesh, block.values]));
  const images = head.images.map((block) => {
    const count = block.rows * block.cols;
    const values = kept(floats, body, block.samples, count, last.get(block.mesh));
    return { ...block, values, ...extent(values, block.base) };
  });
  return {
    ...head,
    images,
    request,
    min: head.min ?? Infinity,
    max: head.max ?? -Infinity,
    positive: Math.min(...images.map(({ positive }) => positive)),
    notFinite: head.not_finite,
    invalid: head.not_finite,
  };
}

/** Returns an image that is made of the tiles before and the new tiles. */
function image(before, head, body, request) {
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
  const notFinite = head.not_finite;
  return { rows, cols, block, window, base, values, request, notFinite, ...extent(values, base) };
}

/**
 * Returns the least, the greatest and the least positive of the finite samples, and the number of
 * samples that are not finite.
 */
export function extent(values, base) {
  let [min, max, positive, invalid] = [Infinity, -Infinity, Infinity, 0];
  for (const sample of values) {
    const value = base + sample;
    if (!Number.isFinite(value)) invalid += 1;
    else {
      if (value < min) min = value;
      if (value > max) max = value;
      if (value > 0 && value < positive) positive = value;
    }
  }
  return { min, max, positive, invalid };
}

/**
 * Returns the image `image` minus `reference`, or null if their samples stand for different points.
 */
export function difference(image, reference) {
  if (!image || !reference || reference.error) return null;
  const shape = (i) => JSON.stringify([i.rows, i.cols, i.block, i.window]);
  if (shape(image) !== shape(reference)) return null;
  const base = image.base - reference.base;
  const values = image.values.map((sample, i) => sample - reference.values[i]);
  return { ...image, base, values, notFinite: undefined, ...extent(values, base) };
}
