// The list of fields. Fields on the blocks of one whole (AMR) are one entry.

/** The entries that were made last, and the region that they are of. */
let last = { region: null, all: [] };

/**
 * Returns the fields of a region to choose from. In place of fields that are a quantity on several
 * blocks, there is one field of the whole. It has `whole`, `blocks` and `used`, and its axes count
 * the cells of the finest blocks.
 */
export function entries(region) {
  if (last.region !== region) last = { region, all: region ? listed(region) : [] };
  return last.all;
}

/** Lists a whole where the first of its fields would be. */
function listed({ fields, wholes = [] }) {
  const wholeOf = new Map(wholes.flatMap((whole) => whole.fields.map((name) => [name, whole])));
  const all = new Set(fields.map((f) => wholeOf.get(f.name) ?? f));
  return [...all].map((f) => (f.blocks ? entry(f) : f));
}

/** Returns a whole in the form of a field whose values are in the cells. */
function entry({ fields, centering, ...whole }) {
  return {
    ...whole,
    label: whole.quantity,
    // There are no cells while no block is used, but a plane must have some.
    shape: whole.shape.map((n) => Math.max(1, n)),
    centering: 'cell',
    // Where the values of the blocks themselves are.
    values: centering,
    raw: false,
    mesh: null,
    mesh_kind: null,
    mesh_error: null,
    capacity: whole.shape[0],
  };
}

/** Returns how many blocks there are, such as "8 blocks, 3 used". */
export const blocksText = ({ blocks, used }) => `${blocks} blocks, ${used} used`;

/**
 * Returns where the samples of a block lie along an axis, in cells of the whole: the place at which
 * index 0 begins, and the length of a value.
 */
export function extentOf(of, block, axis) {
  const shift = of.values === 'cell' ? 0 : 0.5;
  const low = block.origin[axis] - shift * block.spacing[axis];
  return {
    first: (low - of.origin[axis]) / of.spacing[axis],
    step: block.spacing[axis] / of.spacing[axis],
  };
}

/**
 * Returns the sample that is drawn in the middle of a cell, that of the finest block there:
 * {block, row, col} with the indices in the block. Null if there is none.
 */
export function blockAt(of, images, [row, col], plane) {
  for (const block of [...images].reverse()) {
    const [r, c] = [row, col].map((cell, side) => {
      const { first, step } = extentOf(of, block, plane[side]);
      return Math.floor((cell + 0.5 - first) / step);
    });
    const [[top, bottom], [left, right]] = block.window;
    if (r >= top && r < bottom && c >= left && c < right) return { block, row: r, col: c };
  }
  return null;
}
