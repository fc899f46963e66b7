// Draws samples as quadrilaterals between their corners, for slices of curved and uneven meshes.

/** Tests per pixel of whether it lies in a quadrilateral: enough unless very many overlap. */
const TESTS = 24;

/**
 * Returns the number of the sample at each pixel, row by row from the top; -1 where there is none.
 * @param {{rows: number, cols: number}} grid numbers of corners
 * @param {Float64Array} xs the places of the corners, in pixels to the right
 * @param {Float64Array} ys the same downwards; NaN for corners without a place
 */
export function rasterize({ rows, cols }, xs, ys, width, height) {
  const numbers = new Int32Array(width * height).fill(-1);
  // There are many samples, so all use these arrays.
  const [x, y] = [new Float64Array(4), new Float64Array(4)];
  let tests = TESTS * width * height;
  for (let row = 0; row + 1 < rows; row += 1) {
    for (let col = 0; col + 1 < cols; col += 1) {
      take(xs, x, row * cols + col, cols);
      take(ys, y, row * cols + col, cols);
      const [left, right] = [pixel(least(x), width), pixel(greatest(x), width)];
      const [top, bottom] = [pixel(least(y), height), pixel(greatest(y), height)];
      // Not true if a corner has no place.
      if (!(left <= right && top <= bottom)) continue;
      const number = row * (cols - 1) + col;
      dot(numbers, width, height, mean(x), mean(y), number);
      tests -= (right - left) * (bottom - top);
      if (tests < 0) continue;
      const whole = isUpright(x, y);
      for (let py = top; py < bottom; py += 1) {
        for (let px = left; px < right; px += 1) {
          if (whole || contains(x, y, px + 0.5, py + 0.5)) numbers[py * width + px] = number;
        }
      }
    }
  }
  return numbers;
}

/** Takes the places of the four corners of a sample, one after the other around it. */
function take(places, four, first, cols) {
  four[0] = places[first];
  four[1] = places[first + 1];
  four[2] = places[first + cols + 1];
  four[3] = places[first + cols];
}

const least = (p) => Math.min(p[0], p[1], p[2], p[3]);
const greatest = (p) => Math.max(p[0], p[1], p[2], p[3]);
const mean = (p) => (p[0] + p[1] + p[2] + p[3]) / 4;

/** Returns the first pixel whose middle is not before a place. */
const pixel = (place, size) => Math.max(0, Math.min(size, Math.ceil(place - 0.5)));

/** Colours the pixel at the middle, so that no sample is too small to be seen. */
function dot(numbers, width, height, x, y, number) {
  const [px, py] = [Math.floor(x), Math.floor(y)];
  if (px >= 0 && px < width && py >= 0 && py < height) numbers[py * width + px] = number;
}

/** Returns true if a quadrilateral is a rectangle with upright sides. */
function isUpright(x, y) {
  const same = (a, b) => Math.abs(a - b) < 1e-3;
  return (same(x[0], x[3]) && same(x[1], x[2]) && same(y[0], y[1]) && same(y[2], y[3]))
    || (same(x[0], x[1]) && same(x[2], x[3]) && same(y[0], y[3]) && same(y[1], y[2]));
}

/** Returns true if a line from the place crosses the borders an odd number of times. */
function contains(x, y, px, py) {
  let inside = false;
  for (let i = 0, j = 3; i < 4; j = i, i += 1) {
    const crosses = (y[i] > py) !== (y[j] > py);
    if (crosses && px < x[i] + ((py - y[i]) / (y[j] - y[i])) * (x[j] - x[i])) inside = !inside;
  }
  return inside;
}
