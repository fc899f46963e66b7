// The status line at the top, the banner below it, the message in the middle, and the values under
// the pointer.

import { state, set, on, field, shownOfField, version } from './store.js';
import { byId } from './dom.js';
import { hasPlaces, indexText, isScene, title, unitOf } from './field.js';
import { blockSampleAt, sampleAt } from './marker.js';
import { magnitude } from './series.js';
import { number } from './numbers.js';
import { sceneFailure } from './scene-view.js';
import { volumeFailure } from './volume-view.js';

/** Time for which a notice is visible, in milliseconds. */
const NOTICE = 6000;
let notice = '';
let timer = 0;

const REFUSED = 'The address lacks its token, or has the token of another server. Open the '
  + 'address that “tcasm view” printed, with all that follows the “#”.';

const IMPOSTOR = 'Another program answers at this address, not your “tcasm view”. The page has '
  + 'sent it no secret, and tries again …';

const HINT = 'Point at the image to read a value; click to pin the point.';

export function setUpStatus() {
  on(['region', 'link', 'shown', 'regionName'], showStatus);
  on(['region', 'link'], showBanner);
  on(['region', 'link', 'shown', 'view', 'fieldName'], showMessage);
  on(['hover', 'pin', 'shown', 'fieldName'], showValues);
}

/** Shows a notice for some seconds. */
export function tell(text) {
  notice = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice = '';
    showBanner();
  }, NOTICE);
  showBanner();
}

function showStatus() {
  const lost = state.link === 'closed' || state.link === 'impostor';
  const closed = lost ? 'disconnected' : state.link;
  const how = state.link === 'open' ? state.region?.state ?? 'connecting' : closed;
  byId('region-name').textContent = state.regionName ?? '–';
  byId('region-state').textContent = how;
  byId('region-state').dataset.state = how;
  const v = version();
  byId('stamp').textContent = v
    ? `version ${v.version} · step ${v.step} · t = ${number(v.time)}`
    : '';
  document.title = state.regionName ? `${state.regionName} – tcasm view` : 'tcasm view';
}

export function showLatency(ms) {
  byId('latency').textContent = ms === null ? '' : `${Math.round(ms)} ms`;
}

/** Returns the kind and the text of the banner: the worst problem, or null. */
function bannerText() {
  const region = state.region;
  if (state.link === 'refused') return ['bad', REFUSED];
  if (state.link === 'impostor') return ['bad', IMPOSTOR];
  if (state.link === 'closed') {
    return ['bad', 'Disconnected from “tcasm view”. The page tries again …'];
  }
  if (notice) return ['info', notice];
  if (region?.state === 'lost') return ['bad', `The producer died${rest(region)}`];
  if (region?.state === 'revoked') {
    return ['bad', `The producer has revoked the lease of this view${rest(region)}`];
  }
  if (region?.state === 'ended') return ['info', `The producer has ended${rest(region)}`];
  return null;
}

/** Returns the end of a sentence about the producer, and the server's message. */
const rest = (region) => `${last()}. ${region.message ?? ''}`;

const last = () => (version() ? '; this is the last version' : '');

function showBanner() {
  const text = bannerText();
  byId('banner').hidden = !text;
  byId('banner').dataset.kind = text?.[0] ?? '';
  byId('banner').textContent = text?.[1].trim() ?? '';
}

/** Returns the message in the middle: the reason why there is nothing, or nothing new, to see. */
function messageText() {
  const region = state.region;
  if (state.link === 'refused') return REFUSED;
  if (!region) return state.link === 'open' ? '' : 'Connecting …';
  if (region.state === 'waiting') {
    return `Waiting: ${region.message || `there is no region “${region.name}” yet`}`;
  }
  if (!region.latest && region.state === 'running') {
    return 'The producer has not published a version yet.';
  }
  if (!field()) return region.latest ? 'This region has no field that can be shown.' : '';
  const failure = hasPlaces(field()) ? sceneFailure() : volumeFailure();
  if (state.view === 'volume' && failure) return failure;
  return errorText(state.shown) || meshText(field()) || singleText(field());
}

/** Returns why there are no values, or why points are shown in place of a surface. */
function meshText(of) {
  const shown = shownOfField();
  if (shown?.empty) {
    if (of.blocks) return 'No block is used in this version.';
    const particles = of.mesh_kind === 'particles';
    const none = particles ? 'There are no particles' : 'The field has no values';
    return `${none} in this version.`;
  }
  const why = isScene(of) ? shown?.scene?.why : null;
  return why ? `Points are shown, not a surface: ${why}.` : '';
}

/**
 * Returns the error of a frame. A version may go while the page is paused at it. Its drawing stays
 * then.
 */
function errorText(shown) {
  if (!shown?.error) return shown?.compare?.error ?? '';
  const stays = state.version !== null && version()?.version === state.version;
  return stays ? `${shown.error}. Its last image stays.` : shown.error;
}

/** Returns the value of a field without axes, which is shown in place of an image. */
function singleText(of) {
  const probe = shownOfField()?.probe;
  if (of.shape.length > 0 || !probe) return '';
  return `${title(of, state.component)} = ${probeText(probe, of)}`;
}

export function showMessage() {
  const text = messageText();
  byId('message').hidden = text === '';
  byId('message').textContent = text;
}

/** Shows the values at the pointer and at the pinned point. */
function showValues() {
  const of = field();
  if (!of) return;
  const { hover, pin, shown } = state;
  // The cursor of a curve shows the value itself.
  if (state.plane[0] !== state.plane[1] || of.shape.length === 0 || isScene(of)) {
    byId('hover-value').textContent = hoverText(of);
  }
  const exact = pin && shown?.probe && String(shown.probe.at) === String(pin) ? shown.probe : null;
  const value = exact ? probeText(exact, of) : '…';
  byId('pin-value').textContent = pin ? `pinned ${indexText(of, pin, number)} = ${value}` : '';
}

/** Returns the index and the value under the pointer, or a hint. */
function hoverText(of) {
  const { hover, pin } = state;
  if (hover) return `${indexText(of, hover, number)}   ${valueText(hover, of)}`;
  return pin || of.shape.length === 0 ? '' : HINT;
}

/** Returns the exact value if the server has sent it, else the value that is drawn. */
function valueText(index, of) {
  const { probe, image, blocks } = state.shown ?? {};
  if (probe && String(probe.at) === String(index)) return `= ${probeText(probe, of)}`;
  const at = state.plane.map((axis) => index[axis]);
  const sample = of.blocks
    ? blockSampleAt(of, blocks?.images, ...at, state.plane)
    : sampleAt(image, ...at);
  return sample ? `${sample.mean ? '≈' : '='} ${number(sample.value)}${unit(of)}` : '';
}

function probeText(probe, of) {
  // No block of the whole is there.
  if (probe.values.length === 0) return probe.text;
  const several = of.components > 1 ? ` (magnitude ${number(magnitude(probe.values, null))})` : '';
  return `${probe.text}${several}${unit(of)}`;
}

const unit = (of) => unitOf(of) && ` ${unitOf(of)}`;

/**
 * Returns true if the region has a new run. Shows a notice then, and clears the chosen versions.
 */
export function newRun(before, after) {
  if (!before?.run || !after.run || before.run === after.run) return false;
  set({ version: null, reference: null, view: state.view === 'compare' ? 'slice' : state.view });
  tell('A new run has begun; this page follows it.');
  return true;
}
