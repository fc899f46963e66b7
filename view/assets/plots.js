// The plots: line, time series and histogram.

import { state, set, on, field, point, shownOfField } from './store.js';
import { chart, bars, ink, padded, underCursor, wash, xAxis, yAxis } from './chart.js';
import { axisName, coordinate, hasMesh } from './field.js';
import { number } from './numbers.js';
import { series } from './series.js';
import { themeColors } from './theme.js';

const element = (id) => document.getElementById(id);
let plots = null;

export function setUpPlots() {
  plots = {
    line: lineChart(element('line-chart'), element('line-note')),
    curve: lineChart(element('curve'), element('hover-value')),
    series: seriesChart(),
    histogram: histogramChart(),
  };
  on(['logCounts'], () => {
    plots.histogram.destroy();
    plots.histogram = histogramChart();
    drawPlots();
  });
  element('log-counts').addEventListener('change', ({ target }) =>
    set({ logCounts: target.checked }));
}

function lineChart(target, note) {
  return chart(target, {
    scales: { x: { time: false }, y: { range: padded } },
    axes: [xAxis(), yAxis()],
    // The values, and the greatest and least values of their blocks, if there are such.
    series: [{}, { stroke: ink('accent'), width: 1.25, points: { show: few } }, end(), end()],
    bands: [{ series: [2, 3], fill: wash('accent') }],
    hooks: {
      draw: [markPoint],
      setCursor: [(plot) => {
        const text = underCursor(plot, [plot.axisLabel ?? '', 'value']);
        if (text) note.textContent = text;
      }],
    },
  });
}

const end = () => ({ stroke: ink('accent'), width: 0.75, points: { show: false } });

/** Returns true if a plot has fewer than two points. A line through one point is not visible. */
const few = (plot) => plot.data[0].length < 2;

/** Draws a vertical line at the pinned point. */
function markPoint(plot) {
  if (plot.mark === undefined || !state.pin) return;
  const x = plot.valToPos(plot.mark, 'x', true);
  const { ctx, bbox } = plot;
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = themeColors().dim;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function seriesChart() {
  const thin = (name) => ({
    stroke: ink(name),
    width: 1.25,
    points: { show: few },
    spanGaps: true,
  });
  return chart(element('series-chart'), {
    scales: { x: { time: false }, y: { range: padded } },
    axes: [xAxis(), yAxis()],
    series: [{}, thin('three'), thin('one'), thin('three'), thin('two')],
    bands: [{ series: [3, 1], fill: wash('three') }],
  });
}

function histogramChart() {
  const y = state.logCounts
    ? { distr: 3, range: (_, low, high) => [0.5, Math.max(10, high * 1.5)] }
    : { range: (_, low, high) => [0, (high || 1) * 1.05] };
  const values = (_, marks) => marks.map((m) => (Math.log10(m) % 1 ? '' : number(m, 2)));
  return chart(element('histogram-chart'), {
    scales: { x: { time: false }, y },
    axes: [xAxis(), yAxis(state.logCounts ? { values } : {})],
    series: [{}, {
      paths: bars,
      stroke: ink('accent'),
      fill: wash('accent'),
      width: 1,
      points: { show: false },
    }],
    hooks: { setCursor: [(plot) => noteBin(plot)] },
  });
}

function noteBin(plot) {
  const i = plot.cursor.idx;
  if (i === null || i === undefined || !plot.edges) return;
  const [low, high] = [plot.edges[i], plot.edges[i + 1]].map((x) => number(x, 4));
  element('histogram-note').textContent = `${low} … ${high}: ${plot.counts[i] ?? ''}`;
}

/** Draws all plots that have data. */
export function drawPlots() {
  if (!plots || !field()) return;
  drawSeries();
  if (shownOfField()?.empty) {
    clear();
    return;
  }
  if (field().blocks) noLine();
  else drawLine();
  drawHistogram();
}

/** Says that there is no line, and draws none. */
function noLine() {
  plots.line.mark = undefined;
  plots.line.setData([[], [], [], []]);
  element('line-note').textContent = 'no line through several blocks';
}

/** Draws no values: the version has none. */
function clear() {
  for (const plot of [plots.line, plots.curve]) plot.setData([[], [], [], []]);
  Object.assign(plots.histogram, { edges: null, counts: null });
  plots.histogram.setData([[], []]);
  for (const id of ['line-note', 'histogram-note', 'moments']) element(id).textContent = '';
}

/**
 * Returns the values along an axis, `{axis, block, at, x, y, low, high, notFinite, hasPlaces}`, or
 * null. `x` has coordinates if there is a mesh. `low` and `high` are null if each value is a single
 * point.
 */
export function lineData() {
  const [of, line] = [field(), shownOfField()?.line];
  if (!of || !line || line.axis >= of.shape.length) return null;
  const middle = (i) => coordinate(of, line.axis, i * line.block + line.block / 2);
  const at = (i) => line.places?.[i] ?? middle(i);
  return {
    axis: line.axis,
    block: line.block,
    at: line.request?.line?.at,
    x: Array.from(line.values, (_, i) => at(i)),
    y: Array.from(line.values),
    low: line.low && Array.from(line.low),
    high: line.high && Array.from(line.high),
    notFinite: line.not_finite,
    hasPlaces: Boolean(line.places),
  };
}

function drawLine() {
  const data = lineData();
  if (!data) return;
  const of = field();
  const single = of.shape.length === 1;
  for (const plot of single ? [plots.line, plots.curve] : [plots.line]) {
    plot.mark = markOf(of, data);
    plot.axisLabel = axisName(of, data.axis);
    plot.setData([data.x, ...[data.y, data.high, data.low].map((ys) => drawable(data.x, ys))]);
  }
  if (plots.line.cursor.idx == null) element('line-note').textContent = lineNote(of, data);
}

/** Returns the place of the chosen point on the axis of a line. */
function markOf(of, { axis, block, x, hasPlaces }) {
  const index = point()[axis];
  return hasPlaces ? x[Math.floor(index / block)] : coordinate(of, axis, index + 0.5);
}

/** Returns the values without those that cannot be drawn, or an empty line if there are none. */
const drawable = (x, values) => x.map((_, i) => (Number.isFinite(values?.[i]) ? values[i] : null));

function lineNote(of, { axis, block, notFinite, hasPlaces }) {
  const name = axisName(of, axis) + (hasMesh(of) || hasPlaces ? '' : ' index');
  const means = block > 1 ? `, mean and range of each ${block}` : '';
  return `along ${name}${means}${notFinite > 0 ? `, ${notFinite} not finite` : ''}`;
}

function drawSeries() {
  const rows = series();
  const column = (i) => rows.map((row) => row[i]);
  plots.series.setData([column(1), column(3), column(4), column(5), column(6)]);
}

function drawHistogram() {
  const shown = shownOfField();
  if (!shown) return;
  const { histogram, moments } = shown;
  const shownMoments = moments && [
    `mean ${number(moments.mean, 5)}`,
    `σ ${number(moments.std, 5)}`,
    `${number(moments.min, 5)} … ${number(moments.max, 5)}`,
    moments.nans > 0 ? `${moments.nans} NaN` : '',
    moments.infinities > 0 ? `${moments.infinities} infinite` : '',
  ];
  element('moments').textContent = shownMoments ? shownMoments.filter(Boolean).join(' · ') : '';
  if (!histogram) return;
  const { first, last, counts } = histogram;
  const width = (last - first) / counts.length;
  const edges = Array.from({ length: counts.length + 1 }, (_, i) => first + i * width);
  Object.assign(plots.histogram, { edges, counts });
  const heights = counts.map((n) => (state.logCounts && n === 0 ? null : n));
  // The last edge has no bar, but the axis must reach to it.
  plots.histogram.setData([edges, [...heights, null]]);
}
