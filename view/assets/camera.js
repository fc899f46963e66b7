// A camera that turns about the middle of a box, with z up.

/**
 * The distance of the eye at zoom 1, and the focal length, in lengths of the box's longest side.
 */
const DISTANCE = 3.2;
export const FOCAL = 3.2;

export function camera() {
  return { yaw: -0.6, pitch: 0.45, zoom: 1 };
}

/** Returns a camera that is turned by `yaw` and `pitch` radians. */
export function turned(view, yaw, pitch) {
  const most = Math.PI / 2 - 0.01;
  const pitched = Math.max(-most, Math.min(most, view.pitch + pitch));
  return { ...view, yaw: view.yaw + yaw, pitch: pitched };
}

/** Returns a camera with `factor` times the zoom, within 0.4 and 8. */
export function nearer(view, factor) {
  return { ...view, zoom: Math.max(0.4, Math.min(8, view.zoom * factor)) };
}

/**
 * Returns the directions right, up and back of the camera, and its position, in coordinates of the
 * box.
 */
export function frame({ yaw, pitch, zoom }) {
  const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
  const back = [sy * cp, -cy * cp, sp];
  const right = [cy, sy, 0];
  const up = [-sy * sp, cy * sp, cp];
  return { right, up, back, eye: back.map((b) => (b * DISTANCE) / zoom) };
}

/** Returns the perspective projection from coordinates of the box to pixels of a canvas. */
export function projection(view, width, height) {
  const { right, up, back, eye } = frame(view);
  const scale = (Math.min(width, height) / 2) * FOCAL;
  return (point) => {
    const d = point.map((p, i) => p - eye[i]);
    const along = (axis) => d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
    const depth = -along(back);
    return [width / 2 + (along(right) / depth) * scale, height / 2 - (along(up) / depth) * scale];
  };
}
