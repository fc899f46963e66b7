// Colour maps: 256 colours each, from the server.

/** @type {Map<string, Uint8Array>} maps by name, with 3 bytes per colour */
const maps = new Map();

/** The map for differences. Its published form is red at the low end. */
const DIVERGING = 'RdBu';

/** Loads all maps from the server. */
export async function loadColormaps() {
  const answer = await fetch('/colormaps');
  if (!answer.ok) return;
  for (const [name, text] of Object.entries(await answer.json())) maps.set(name, decode(text));
}

function decode(text) {
  const colors = new Uint8Array(768);
  for (let i = 0; i < 768; i += 1) colors[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return colors;
}

export const colormapNames = () => [...maps.keys()];

/** Returns the map of this name, or a grey map if there is none. */
export function colormap(name) {
  return maps.get(name) ?? gradient([[0, 0, 0], [255, 255, 255]]);
}

/** Returns the map for differences: neutral in the middle, red where the value has grown. */
export function diverging() {
  const published = maps.get(DIVERGING);
  return published ? reversed(published) : gradient([[59, 76, 192], [221, 221, 221], [180, 4, 38]]);
}

function reversed(colors) {
  const turned = new Uint8Array(768);
  for (let i = 0; i < 256; i += 1) turned.set(colors.subarray(3 * i, 3 * i + 3), 3 * (255 - i));
  return turned;
}

/** Returns a map that interpolates between evenly spaced colours. */
function gradient(stops) {
  const colors = new Uint8Array(768);
  for (let i = 0; i < 256; i += 1) {
    const t = (i / 255) * (stops.length - 1);
    const left = Math.min(Math.floor(t), stops.length - 2);
    for (let c = 0; c < 3; c += 1) {
      const [from, to] = [stops[left][c], stops[left + 1][c]];
      colors[3 * i + c] = Math.round(from + (t - left) * (to - from));
    }
  }
  return colors;
}

/** Returns a colour such as "#1b1f24" as a 32-bit pixel of ImageData. */
export function pixel(hex) {
  const [red, green, blue] = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Returns a map as 32-bit pixels of ImageData. All machines with browsers are little-endian. */
export function pixels(colors) {
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i += 1) {
    table[i] = (255 << 24) | (colors[3 * i + 2] << 16) | (colors[3 * i + 1] << 8) | colors[3 * i];
  }
  return table;
}
