// Axes, planes and coordinates of a field.

/** The name of an axis. */
export function axisName(field, axis) {
  return field.axes?.[axis] ?? `axis ${axis}`;
}

/** How a shape is written: slowest axis first. */
export const shapeText = (field) => field.shape.join(' × ') || 'one value';

/** What the values are: "float64 × 3". */
export function typeText(field) {
  const parts = field.components > 1 ? ` × ${field.components}` : '';
  return field.dtype + parts;
}

/** The unit to write behind a value; nothing for numbers without a dimension. */
export const unitOf = (field) => (field.unit && field.unit !== '1' ? field.unit : '');

/** Whether there is such a view of a field: a volume has three axes, and of a single value there is no image. */
export function hasView(field, view) {
  if (view === 'volume') return field.shape.length === 3;
  return view === 'slice' || field.shape.length > 0;
}

/** All pairs of axes that can be rows and columns; that of the last two comes first. */
export function planes(field) {
  const n = field.shape.length;
  if (n < 2) return [[0, 0]];
  const pairs = [];
  for (let row = n - 2; row >= 0; row -= 1) {
    for (let col = n - 1; col > row; col -= 1) pairs.push([row, col]);
  }
  return pairs;
}

/** What a plane is called: in three dimensions by the axis across it. */
export function planeName(field, [row, col]) {
  if (field.shape.length === 3) return axisName(field, 3 - row - col);
  return `${axisName(field, col)}–${axisName(field, row)}`;
}

/** The axes that are neither rows nor columns. */
export function otherAxes(field, plane) {
  return field.shape.map((_, axis) => axis).filter((axis) => !plane.includes(axis));
}

/** Rows and columns of a plane. */
export function planeSize(field, [row, col]) {
  return { rows: row === col ? 1 : field.shape[row], cols: field.shape[col] };
}

/** How much higher than wide a cell is drawn. Long thin fields are stretched: nobody could see them. */
export function aspect(field, plane) {
  const [row, col] = plane;
  const { rows, cols } = planeSize(field, plane);
  const spacing = field.spacing;
  const cell = spacing && row !== col ? Math.abs(spacing[row] / spacing[col]) : 1;
  const whole = (rows * cell) / cols;
  const sensible = Number.isFinite(whole) && whole > 1 / 8 && whole < 8;
  return sensible ? cell : ((whole > 1 ? 1.6 : 0.6) * cols) / rows;
}

/** Where along an axis something lies; `place` counts cells from the field's edge, a sample is in the middle of its cell. */
export function coordinate(field, axis, place) {
  if (!field.spacing || !field.origin) return place - 0.5;
  const shift = field.centering === 'cell' ? 0 : 0.5;
  return field.origin[axis] + (place - shift) * field.spacing[axis];
}

/** The inverse of `coordinate`. */
export function place(field, axis, x) {
  if (!field.spacing || !field.origin) return x + 0.5;
  const shift = field.centering === 'cell' ? 0 : 0.5;
  return (x - field.origin[axis]) / field.spacing[axis] + shift;
}

/** Whether an axis has coordinates besides indices. */
export const hasMesh = (field) => Boolean(field.spacing && field.origin);

/** "[3, 10, 5]", and coordinates where there is a mesh. */
export function indexText(field, index, number) {
  const text = `[${index.join(', ')}]`;
  if (!hasMesh(field)) return text;
  const named = index.map((i, axis) => `${axisName(field, axis)} = ${number(coordinate(field, axis, i + 0.5))}`);
  return `${text}  ${named.reverse().join(', ')}`;
}

/** What is looked at: "wind[1]"; of vectors as a whole the magnitude, of complex numbers the modulus. */
export function title(field, component) {
  if (field.components <= 1) return field.complex ? `|${field.name}|` : field.name;
  return component === null ? `|${field.name}|` : `${field.name}[${component}]`;
}
