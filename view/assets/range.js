// Which values the ends of the colour map stand for.

/** What was seen since the range began to grow, and of what. */
let grown = { of: '', low: Infinity, high: -Infinity, positive: Infinity };

/** Begin to grow anew. */
export function resetRange() {
  grown = { of: '', low: Infinity, high: -Infinity, positive: Infinity };
}

/**
 * @typedef {{low: number, high: number, log: boolean}} Range
 * @param {{min: number, max: number, positive: number}} seen of the image that is drawn
 * @param {{mode: string, fixed: number[], log: boolean, of: string}} wish `of` names field and component
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

/** A range with two ends that differ; logarithms want them positive. */
function sound(low, high, positive, log) {
  if (!(low <= high) || !Number.isFinite(low) || !Number.isFinite(high)) return { low: 0, high: 1, log: false };
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

/** A range for differences: zero in its middle. */
export function symmetric({ min, max }) {
  const most = Math.max(Math.abs(min), Math.abs(max));
  const end = Number.isFinite(most) && most > 0 ? most : 1;
  return { low: -end, high: end, log: false };
}

/** Where a value is between the ends: 0 to 1 inside. */
export function fraction(value, { low, high, log }) {
  if (!log) return (value - low) / (high - low);
  return value > 0 ? Math.log(value / low) / Math.log(high / low) : -Infinity;
}

/** The inverse of `fraction`. */
export function valueAt(t, { low, high, log }) {
  return log ? low * (high / low) ** t : low + t * (high - low);
}

/** Which of the 256 colours a value has; -1 for NaN. */
export function colorIndex(value, of) {
  const t = fraction(value, of);
  if (Number.isNaN(t)) return -1;
  return t <= 0 ? 0 : Math.min(255, Math.floor(t * 256));
}
