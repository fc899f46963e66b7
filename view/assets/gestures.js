// Mouse, pen and fingers on a canvas, as what they mean: move, drag, zoom, click, leave.

/** So many CSS pixels a finger may slip and still click. */
const SLIP = 5;

/**
 * Positions and distances are in device pixels of the canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {{hover?: Function, leave?: Function, drag: Function, zoom: Function, click?: Function}} handlers
 */
export function gestures(canvas, handlers) {
  /** Pointers that are down: id to position. */
  const down = new Map();
  let slipped = 0;

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) slipped = 0;
    down.set(event.pointerId, position(event));
  });

  canvas.addEventListener('pointermove', (event) => {
    const here = position(event);
    const before = down.get(event.pointerId);
    if (!before) {
      handlers.hover?.(here.x, here.y);
      return;
    }
    slipped += Math.hypot(here.x - before.x, here.y - before.y);
    down.set(event.pointerId, here);
    if (down.size === 1) {
      if (slipped > SLIP * devicePixelRatio) handlers.drag(here.x - before.x, here.y - before.y);
    } else if (down.size === 2) pinch(event.pointerId, before, here);
  });

  /** Two fingers: zoom about the middle between them, and move with it. */
  function pinch(id, before, here) {
    const [, other] = [...down.entries()].find(([key]) => key !== id);
    const distance = (a) => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y));
    handlers.zoom(distance(here) / distance(before), (here.x + other.x) / 2, (here.y + other.y) / 2);
    handlers.drag((here.x - before.x) / 2, (here.y - before.y) / 2);
    slipped = Infinity;
  }

  canvas.addEventListener('pointerup', (event) => {
    const here = down.get(event.pointerId);
    down.delete(event.pointerId);
    if (here && down.size === 0 && slipped <= SLIP * devicePixelRatio) handlers.click?.(here.x, here.y);
  });
  canvas.addEventListener('pointercancel', (event) => down.delete(event.pointerId));
  canvas.addEventListener('pointerleave', () => handlers.leave?.());

  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const { x, y } = position(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    const amount = Math.max(-240, Math.min(240, event.deltaY * lines));
    handlers.zoom(Math.exp(-amount * 0.0025), x, y);
  }, { passive: false });

  function position(event) {
    const rect = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - rect.left) * canvas.width) / rect.width,
      y: ((event.clientY - rect.top) * canvas.height) / rect.height,
    };
  }
}

/** Width and height of an element in device pixels; 0 of one that is hidden. */
export const sizeOf = (element) => [element.clientWidth, element.clientHeight].map((n) => Math.round(n * devicePixelRatio));

/**
 * Make a canvas as large as its element; one that is hidden stays as it is. What was drawn is gone where this is true.
 * @returns {boolean} whether it was another size
 */
export function fit(canvas) {
  const [width, height] = sizeOf(canvas);
  if (width === 0 || height === 0 || (canvas.width === width && canvas.height === height)) return false;
  Object.assign(canvas, { width, height });
  return true;
}

/** Call `resized` whenever the element of a canvas has another size than the canvas. Who draws makes it fit. */
export function onResize(canvas, resized) {
  new ResizeObserver(() => fit(canvas) && resized()).observe(canvas);
}
