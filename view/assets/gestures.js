// Translates events of mouse, pen and fingers on a canvas into hover, drag, zoom, click and leave.

/** Distance that a pointer may slip and still click, in CSS pixels. */
const SLIP = 5;

/**
 * Calls the handlers for gestures. Positions and distances are in device pixels of the canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {{hover?: Function, leave?: Function, drag: Function, zoom: Function, click?: Function}}
 *   handlers
 */
export function gestures(canvas, handlers) {
  /** The positions of the pointers that are down, by id. */
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

  /** Handles two fingers: zooms about the middle between them, and moves with it. */
  function pinch(id, before, here) {
    const [, other] = [...down.entries()].find(([key]) => key !== id);
    const distance = (a) => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y));
    const middle = { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 };
    handlers.zoom(distance(here) / distance(before), middle.x, middle.y);
    handlers.drag((here.x - before.x) / 2, (here.y - before.y) / 2);
    slipped = Infinity;
  }

  canvas.addEventListener('pointerup', (event) => {
    const here = down.get(event.pointerId);
    down.delete(event.pointerId);
    if (here && down.size === 0 && slipped <= SLIP * devicePixelRatio) {
      handlers.click?.(here.x, here.y);
    }
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

/** Returns width and height of an element in device pixels; 0 if it is hidden. */
export const sizeOf = (element) =>
  [element.clientWidth, element.clientHeight].map((n) => Math.round(n * devicePixelRatio));

/**
 * Makes a canvas as large as its element. A hidden canvas keeps its size.
 * @returns {boolean} true if the size has changed; the canvas is empty then
 */
export function fit(canvas) {
  const [width, height] = sizeOf(canvas);
  if (width === 0 || height === 0) return false;
  if (canvas.width === width && canvas.height === height) return false;
  Object.assign(canvas, { width, height });
  return true;
}

/** Makes a canvas fit and calls `resized`, whenever its element gets another size. */
export function onResize(canvas, resized) {
  new ResizeObserver(() => fit(canvas) && resized()).observe(canvas);
}
