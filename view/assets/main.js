// The main module of the page. It keeps messages of the server in the state, draws the state, and
// asks the server for what the state needs.

import { state, set, on, field } from './store.js';
import { byId } from './dom.js';
import { Connection } from './connection.js';
import { apply, asked } from './frames.js';
import { request, same } from './request.js';
import { takeToken } from './keys.js';
import { loadColormaps } from './colors.js';
import { setUpCells } from './cells.js';
import { setUpLists } from './lists.js';
import { setUpControls, showControls, showRange } from './controls.js';
import { drawSlice, setUpSlice, wantedPlane, zoom } from './slice-view.js';
import { drawVolume, setUpVolume, showVolume, zoomVolume } from './volume-view.js';
import { drawScene, setUpScene, showScene, zoomScene } from './scene-view.js';
import { hasPlaces } from './field.js';
import { drawPlots, setUpPlots } from './plots.js';
import { drawPages, setUpPages } from './pages-map.js';
import { addFrame, addPoints, seriesOf } from './series.js';
import { setUpTimeline } from './timeline.js';
import { setUpProducer } from './producer.js';
import { keepReference } from './reference.js';
import { newRun, setUpStatus, showLatency, showMessage } from './status.js';
import { setUpExport } from './export.js';
import { setUpKeyboard } from './keyboard.js';
import { setUpTheme } from './theme.js';
import { addLatency, setUpInspection } from './inspect.js';

/** Least time between two view requests, in milliseconds. A slider that moves causes many. */
const REQUEST_PAUSE = 40;

const connection = new Connection({ message, frame, link });
let lastRequest = null;
let requestTimer = 0;
let drawTimer = 0;
/** Number of the frame to confirm when it is drawn. */
let toConfirm = null;
/** All data of this connection, shown or not. The server does not send it again. */
let received = null;

// ---- From the server.

function link(how) {
  set({ link: how });
  if (how !== 'open') return;
  received = null;
  // The server does not know the requests of the last connection.
  lastRequest = null;
  ask();
  askRegions();
}

function message(what) {
  if (what.type === 'region') region(what);
  else if (what.type === 'regions') set({ regions: what.regions });
  else if (
    what.type === 'series' && what.field === state.fieldName && what.component === state.component
  ) {
    seriesOf(seriesKey());
    addPoints(what.points);
    draw();
  }
}

function region(what) {
  const anew = newRun(state.region, what);
  set({ region: what, regionName: what.name, ...(anew ? { shown: null } : {}) });
  if (anew) lastRequest = null;
  ask();
}

/** Decodes a frame immediately. It is drawn when the browser draws, and confirmed after that. */
function frame(buffer) {
  received = apply(received, buffer);
  if (isLate(received)) {
    connection.got(received.frame);
    return;
  }
  const shown = { ...received };
  if (!shown.error) {
    seriesOf(seriesKey());
    addFrame(shown, state.component);
    keepReference(shown);
  }
  toConfirm = shown.frame;
  set({ shown });
}

/**
 * Returns true for an answer to an old request: it has another field, or another version than the
 * one that the page is paused at.
 */
const isLate = ({ field: of, request: wanted }) =>
  of !== state.fieldName || (wanted !== undefined && wanted.version !== state.version);

const seriesKey = () =>
  JSON.stringify([state.regionName, state.region?.run, state.fieldName, state.component]);

// ---- To the server.

/** Sends a view request for the state, unless the last request was the same. */
function ask() {
  if (requestTimer) return;
  requestTimer = setTimeout(() => {
    requestTimer = 0;
    const wanted = request(wantedPlane());
    if (!wanted || same(wanted, lastRequest)) return;
    asked(wanted);
    if (connection.send(wanted)) lastRequest = wanted;
  }, lastRequest ? REQUEST_PAUSE : 0);
}

/** Asks which regions there are. Without an answer the list stays, and the banner says why. */
const askRegions = () => connection.send({ type: 'regions' });

function chooseRegion(name) {
  if (name === state.regionName) return;
  set({
    regionName: name,
    region: null,
    shown: null,
    fieldName: null,
    at: [],
    version: null,
    reference: null,
    pin: null,
    hover: null,
    view: 'slice',
  });
  lastRequest = null;
  const address = new URL(location.href);
  address.searchParams.set('region', name);
  history.replaceState(null, '', address);
  connection.open(name);
}

// ---- To the screen.

function draw() {
  if (drawTimer) return;
  drawTimer = requestAnimationFrame(() => {
    drawTimer = 0;
    drawAll();
    if (toConfirm === null) return;
    connection.got(toConfirm);
    toConfirm = null;
    measure();
  });
}

function drawAll() {
  const of = field();
  const curve = of?.shape.length === 1 && state.view === 'slice';
  byId('curve').hidden = !curve;
  byId('heat').hidden = curve || state.view === 'volume';
  const kind = of?.shape.length === 0 ? 'value' : curve ? 'curve' : state.view;
  document.body.dataset.shows = state.shown?.version ? kind : 'nothing';
  const space = state.view === 'volume';
  const placed = hasPlaces(of);
  showVolume(space && !placed);
  showScene(space && placed);
  if (!space) drawSlice();
  else if (placed) drawScene();
  else drawVolume();
  drawPlots();
  drawPages();
  showRange();
  showMessage();
}

/** The time of publishing of the version whose latency was measured last. */
let measured = null;

/**
 * Measures the latency from publish to pixels, once per version, while the page follows the newest
 * version.
 */
function measure() {
  const { shown } = state;
  if (state.version !== null) showLatency(null);
  if (state.version !== null || !shown?.published || shown.published === measured) return;
  measured = shown.published;
  // The browser begins the next image when this one is on the screen.
  requestAnimationFrame(() => {
    const ms = Date.now() - shown.published;
    addLatency(ms);
    showLatency(state.region?.state === 'running' ? ms : null);
  });
}

function zoomBy(factor) {
  if (state.view === 'volume' && hasPlaces(field())) zoomScene(factor, draw);
  else if (state.view === 'volume') zoomVolume(factor, draw);
  else if (factor === null) set({ window: null });
  else zoom(factor);
}

function setUp() {
  setUpInspection();
  setUpTheme();
  setUpStatus();
  setUpCells();
  setUpLists(chooseRegion, askRegions);
  setUpControls();
  setUpSlice(draw, ask);
  setUpVolume(draw);
  setUpScene(draw);
  setUpPlots();
  setUpPages();
  setUpTimeline();
  setUpProducer();
  setUpExport();
  setUpKeyboard(zoomBy);
  byId('zoom-in').onclick = () => zoomBy(1.5);
  byId('zoom-out').onclick = () => zoomBy(1 / 1.5);
  byId('zoom-reset').onclick = () => zoomBy(null);
  const asks = [
    'fieldName', 'component', 'view', 'plane', 'at', 'window', 'version', 'reference', 'hover',
    'pin', 'lineAxis',
  ];
  on(asks, ask);
  const draws = ['colormap', 'rangeMode', 'fixed', 'log', 'render', 'level', 'theme'];
  on([...asks, 'region', 'shown', ...draws], draw);
}

async function start() {
  setUp();
  const begin = () => connection.open(new URLSearchParams(location.search).get('region'));
  takeToken();
  begin();
  // If the page is open already, opening the printed address only changes the part after the `#`.
  addEventListener('hashchange', () => takeToken() && begin());
  try {
    await loadColormaps();
  } catch {
    // Without colour maps the image is grey. The banner shows the state of the connection.
  }
  showControls();
  draw();
}

start();
