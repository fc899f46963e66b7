// The time line over the versions that the producer still keeps: live or paused, back and forward.

import { state, set, on, version } from './store.js';
import { byId, make, refill } from './dom.js';
import { number } from './numbers.js';

/** Maximum number of labels under the time line. */
const LABELS = 12;

export function setUpTimeline() {
  byId('live').onclick = toggleLive;
  byId('back').onclick = () => stepBy(-1);
  byId('forward').onclick = () => stepBy(1);
  byId('scrub').oninput = (event) => goTo(versions()[Number(event.target.value)]);
  on(['region', 'version', 'reference', 'view', 'shown'], showTimeline);
}

/**
 * Returns the versions that can be chosen: those that the producer keeps (the list comes twice a
 * second), and the one on the screen.
 */
export function versions() {
  const all = new Set([...(state.region?.versions ?? []), version()?.version, state.version]);
  return [...all].filter((number_) => number_ != null).sort((a, b) => a - b);
}

export function toggleLive() {
  if (state.version !== null) set({ version: null });
  else goTo(version()?.version);
}

/** Pauses at this version. */
export function goTo(number_) {
  if (number_ !== undefined) set({ version: number_ });
}

/** Pauses at the version before (`by` < 0) or after. */
export function stepBy(by) {
  const all = versions();
  const now = state.version ?? version()?.version;
  const next = by < 0 ? all.filter((v) => v < now).at(-1) : all.find((v) => v > now);
  goTo(next ?? now);
}

function showTimeline() {
  const all = versions();
  const live = state.version === null;
  const now = live ? all.at(-1) : state.version;
  byId('live').textContent = live ? 'Pause' : 'Live';
  byId('live').setAttribute('aria-pressed', String(live));
  const scrub = byId('scrub');
  scrub.max = Math.max(0, all.length - 1);
  scrub.disabled = all.length === 0;
  scrub.value = Math.max(0, all.indexOf(now));
  scrub.setAttribute('aria-valuetext', now === undefined ? 'no version' : `version ${now}`);
  byId('back').disabled = byId('forward').disabled = all.length === 0;
  showTicks(all, now);
  const shown = version();
  const how = live ? 'live' : 'paused';
  byId('position').textContent = shown
    ? `${how} · version ${shown.version} · step ${shown.step} · t = ${number(shown.time)}`
    : '';
}

/** Shows the numbers of versions below the slider, where its thumb would be. */
function showTicks(all, now) {
  const every = Math.ceil(all.length / LABELS);
  const key = JSON.stringify([all, now, state.view === 'compare' && state.reference]);
  refill(byId('ticks'), key, () => all.map((v, i) => {
    const labelled = (all.length - 1 - i) % every === 0 || v === now;
    const tick = make('span', { textContent: labelled ? String(v) : '·' });
    tick.classList.toggle('now', v === now);
    tick.classList.toggle('reference', state.view === 'compare' && v === state.reference);
    tick.style.left = `${all.length > 1 ? (100 * i) / (all.length - 1) : 0}%`;
    return tick;
  }));
}
