// The image that others are compared with. Simulations keep few versions: the page keeps its image when the version has gone.

import { state, set } from './store.js';

/** {version, of, image} */
let kept = null;

const identity = ({ field, component }, { rows, cols, block, window, look }) =>
  JSON.stringify([field, component, rows, cols, block, window, look?.slice?.axes, look?.slice?.at]);

/**
 * Complete what is to be shown with the image that was kept, if its version has gone. If none was kept that fits, comparison
 * begins anew with what is shown.
 */
export function keepReference(shown) {
  const { image, compare } = shown;
  if (state.view !== 'compare' || !compare || !image) return;
  if (!compare.error) {
    kept = { version: compare.version, of: identity(shown, compare), image: compare };
    return;
  }
  const of = identity(shown, image);
  if (kept?.version.version !== state.reference || kept.of !== of) {
    kept = { version: shown.version, of, image };
    set({ reference: shown.version.version });
  }
  shown.compare = { ...kept.image, version: kept.version, error: null };
}
