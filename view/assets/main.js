// The page: what comes from the server is kept in the state, what the state says is drawn and asked for.

import { state, set, on, field } from './store.js';
import { byId } from './dom.js';
import { Connection } from './connection.js';
import { apply, asked } from './frames.js';
import { look, same } from './look.js';
import { takeToken } from './keys.js';
import { loadColormaps } from './colors.js';
import { setUpLists } from './lists.js';
import { setUpControls, showControls, showRange } from './controls.js';
import { drawSlice, setUpSlice, wantedPlane, zoom } from './slice-view.js';
import { drawVolume, setUpVolume, showVolume, zoomVolume } from './volume-view.js';
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

/** Looks are sent at most so often: a slider that moves asks for many. */
const LOOK_PAUSE = 40;

const connection = new Connection({ message, frame, link });
let lastLook = null;
let lookTimer = 0;
let drawTimer = 0;
/** The frame that is to be told of when it is drawn. */
let toTell = null;
/** All that has come on this connection: the server leaves out what the page has, shown or not. */
let received = null;

// ---- From the server.

function link(how) {
  set({ link: how });
  if (how !== 'open') return;
  received = null;
  // A new connection knows nothing of what was asked on the last.
  lastLook = null;
  ask();
  askRegions();
}

function message(what) {
  if (what.type === 'region') region(what);
  else if (what.type === 'regions') set({ regions: what.regions });
  else if (what.type === 'series' && what.field === state.fieldName && what.component === state.component) {
    seriesOf(seriesKey());
    addPoints(what.points);
    draw();
  }
}

function region(what) {
  const anew = newRun(state.region, what);
  set({ region: what, regionName: what.name, ...(anew ? { shown: null } : {}) });
  if (anew) lastLook = null;
  ask();
}

/** Put the frame together now, draw it when the browser draws, then ask for the next. */
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
  toTell = shown.frame;
  set({ shown });
}

/** The answer to a question that nobody asks any more: of another field, or the newest version where one is paused at. */
const isLate = ({ field: of, look: wish }) => of !== state.fieldName || (wish !== undefined && wish.version !== state.version);

const seriesKey = () => JSON.stringify([state.regionName, state.region?.run, state.fieldName, state.component]);

// ---- To the server.

/** Ask for what the state says, unless that is what was asked last. */
function ask() {
  if (lookTimer) return;
  lookTimer = setTimeout(() => {
    lookTimer = 0;
    const wish = look(wantedPlane());
    if (!wish || same(wish, lastLook)) return;
    asked(wish);
    if (connection.send(wish)) lastLook = wish;
  }, lastLook ? LOOK_PAUSE : 0);
}

/** Ask which regions there are. Without an answer the list stays: the banner says what is wrong. */
const askRegions = () => connection.send({ type: 'regions' });

function chooseRegion(name) {
  if (name === state.regionName) return;
  set({ regionName: name, region: null, shown: null, fieldName: null, at: [], version: null, reference: null, pin: null, hover: null, view: 'slice' });
  lastLook = null;
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
    if (toTell === null) return;
    connection.got(toTell);
    toTell = null;
    measure();
  });
}

function drawAll() {
  const of = field();
  const curve = of?.shape.length === 1 && state.view === 'slice';
  byId('curve').hidden = !curve;
  byId('heat').hidden = curve || state.view === 'volume';
  document.body.dataset.shows = !state.shown?.version ? 'nothing' : of?.shape.length === 0 ? 'value' : curve ? 'curve' : state.view;
  showVolume(state.view === 'volume');
  if (state.view === 'volume') drawVolume();
  else drawSlice();
  drawPlots();
  drawPages();
  showRange();
  showMessage();
}

/** The version whose age on the screen was measured last. */
let measured = null;

/** How old the version is that has just been drawn for the first time, if it is the newest, when its pixels are on the screen. */
function measure() {
  const { shown } = state;
  if (state.version !== null || !shown?.published || shown.published === measured) return;
  measured = shown.published;
  // The browser begins the next image when this one is out.
  requestAnimationFrame(() => {
    const ms = Date.now() - shown.published;
    addLatency(ms);
    showLatency(state.region?.state === 'running' ? ms : null);
  });
}

function zoomBy(factor) {
  if (state.view === 'volume') zoomVolume(factor, draw);
  else if (factor === null) set({ window: null });
  else zoom(factor);
}

function setUp() {
  setUpInspection();
  setUpTheme();
  setUpStatus();
  setUpLists(chooseRegion, askRegions);
  setUpControls();
  setUpSlice(draw, ask);
  setUpVolume(draw);
  setUpPlots();
  setUpPages();
  setUpTimeline();
  setUpProducer();
  setUpExport();
  setUpKeyboard(zoomBy);
  byId('zoom-in').onclick = () => zoomBy(1.5);
  byId('zoom-out').onclick = () => zoomBy(1 / 1.5);
  byId('zoom-reset').onclick = () => zoomBy(null);
  const asks = ['fieldName', 'component', 'view', 'plane', 'at', 'window', 'version', 'reference', 'hover', 'pin', 'lineAxis'];
  on(asks, ask);
  on([...asks, 'region', 'shown', 'colormap', 'rangeMode', 'fixed', 'log', 'render', 'level', 'theme'], draw);
}

async function start() {
  setUp();
  const begin = () => connection.open(new URLSearchParams(location.search).get('region'));
  takeToken();
  begin();
  // The printed address, opened where the page is open already, changes nothing but what follows the `#`.
  addEventListener('hashchange', () => takeToken() && begin());
  try {
    await loadColormaps();
  } catch {
    // Without colours of the server the image is grey; the connection tells what is wrong.
  }
  showControls();
  draw();
}

start();
