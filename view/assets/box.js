// The box around a field in space: its edges, and the names of its axes.

/** Draws the twelve edges of a box whose middle is the origin. `sides`: along x, y, z. */
export function edges(ctx, sides, project) {
  const half = sides.map((s) => s / 2);
  const corner = (_, i) => half.map((h, axis) => ((i >> axis) & 1 ? h : -h));
  const corners = Array.from({ length: 8 }, corner);
  ctx.globalAlpha = 0.6;
  ctx.beginPath();
  for (let from = 0; from < 8; from += 1) {
    for (const bit of [1, 2, 4]) {
      if (from & bit) continue;
      ctx.moveTo(...project(corners[from]));
      ctx.lineTo(...project(corners[from | bit]));
    }
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** Writes a text for each axis (x, y, z) beside the middle of one of its edges. */
export function names(ctx, texts, sides, project) {
  const half = sides.map((s) => s / 2);
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  texts.forEach((text, axis) => {
    const middle = half.map((h, i) => (i === axis ? 0 : -h * 1.12 - 0.03));
    ctx.fillText(text, ...project(middle));
  });
}

/**
 * Returns the box to draw: the box before, extended to all points, so that the picture does not
 * shake when points move. If it is more than twice as long as the box of the points, returns that.
 * @typedef {{low: number[], high: number[]}} Box coordinates x, y, z
 * @param {Box|null} before
 * @param {Box} now the least and greatest coordinates
 */
export function steady(before, now) {
  if (!before) return now;
  const both = {
    low: now.low.map((low, axis) => Math.min(low, before.low[axis])),
    high: now.high.map((high, axis) => Math.max(high, before.high[axis])),
  };
  return longest(both) <= 2 * longest(now) ? both : now;
}

/** Returns the length of the longest side of a box. */
export const longest = ({ low, high }) => Math.max(...high.map((h, axis) => h - low[axis]));

/** Returns a colour such as "#1b1f24" as three numbers between 0 and 1. */
export const rgb = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255);
