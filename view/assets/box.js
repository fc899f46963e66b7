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
 * Returns the box to draw: the box before while it fits, so that the picture does not jump when
 * points move. A box fits if all points are in it, and they fill half of its longest side.
 * @typedef {{low: number[], high: number[]}} Box coordinates x, y, z
 * @param {Box|null} before
 * @param {Box} now the least and greatest coordinates
 */
export function steady(before, now) {
  if (!before) return now;
  const inside = now.low.every((low, axis) => low >= before.low[axis])
    && now.high.every((high, axis) => high <= before.high[axis]);
  return inside && longest(now) >= longest(before) / 2 ? before : now;
}

/** Returns the length of the longest side of a box. */
export const longest = ({ low, high }) => Math.max(...high.map((h, axis) => h - low[axis]));

/** Returns a colour such as "#1b1f24" as three numbers between 0 and 1. */
export const rgb = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255);
