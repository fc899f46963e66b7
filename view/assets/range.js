// The range of values that the colour map stands for.

/**
 * The values that were seen since the range began to grow, and the field and component that they
 * are of.
 */
let grown = { of: '', low: Infinity, high: -Infinity, positive: Infinity };

/** Lets a growing range begin again. */
export function resetRange() {
  grown = { of: '', low: Infinity, high: -Infinity, positive: Infinity };
}

/**
 * Returns the range to draw with.
 * @typedef {{low: number, high: number, log: boolean}} Range
 * @param {{min: number, max: number, positive: number}} seen of the image that is drawn
 * @param {{mode: string, fixed: number[], log: boolean, of: string}} options `of` names field and
 *   component
 * @returns {Range}
 */
export function range(seen, { mode, fixed, log, of }) {
  if (mode === 'fixed') return sound(fixed[0], fixed[1], Math.max(fixed[0], seen.positive), log);
  if (mode !== 'grow') return sound(seen.min, seen.max, seen.positive, log);
  if (grown.of !== of) resetRange();
  grown = {
    of,
    low: Math.min(grown.low, seen.min),
    high: Math.max(grown.high, seen.max),
    positive: Math.min(grown.positive, seen.positive),
  };
  return sound(grown.low, grown.high, grown.positive, log);
}

/** Returns a valid range: its ends differ, and are positive for logarithms. */
function sound(low, high, positive, log) {
  if (!(low <= high) || !Number.isFinite(low) || !Number.isFinite(high)) {
    return { low: 0, high: 1, log: false };
  }
  if (log && high > 0) {
    const least = low > 0 ? low : Math.min(positive, high);
    return least < high ? { low: least, high, log: true } : { low: high / 10, high, log: true };
  }
  if (low === high) {
    const pad = Math.abs(low) * 0.01 || 0.5;
    return { low: low - pad, high: high + pad, log: false };
  }
  return { low, high, log: false };
}

/** Returns a range for differences, with zero in the middle. */
export function symmetric({ min, max }) {
  const most = Math.max(Math.abs(min), Math.abs(max));
  const end = Number.isFinite(most) && most > 0 ? most : 1;
  return { low: -end, high: end, log: false };
}

/** Returns the position of a value between the ends: 0 to 1 inside of the range. */
export function fraction(value, { low, high, log }) {
  if (!log) return (value - low) / (high - low);
  return value > 0 ? Math.log(value / low) / Math.log(high / low) : -Infinity;
}

/** Returns the value at a position: the inverse of `fraction`. */
export function valueAt(t, { low, high, log }) {
  return log ? low * (high / low) ** t : low + t * (high - low);
}

/** Returns the number of the colour of a value, 0 to 255, or -1 if the value is not finite. */
export function colorIndex(value, of) {
  if (!Number.isFinite(value)) return -1;
  const t = fraction(value, of);
  if (Number.isNaN(t)) return -1;
  return t <= 0 ? 0 : Math.min(255, Math.floor(t * 256));
}
