// The reference: the image that others are compared with. Simulations keep few versions, so the
// page keeps the image when its version is gone.

import { state, set } from './store.js';

/** The image that was kept: {version, of, image}, or null. */
let kept = null;

const identity = ({ field, component }, { rows, cols, block, window, request }) => {
  const { axes, at } = request?.slice ?? {};
  return JSON.stringify([field, component, rows, cols, block, window, axes, at]);
};

/**
 * Adds the image that was kept to `shown`, if its version is gone. If no image was kept that fits,
 * the image that is shown becomes the reference.
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
