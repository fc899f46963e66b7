// The panel of the producer: its state, its cost, and its observers.

import { state, on } from './store.js';
import { byId, make, plain, refill } from './dom.js';
import { duration, number, size } from './numbers.js';

export function setUpProducer() {
  on(['region'], showProducer);
}

function showProducer() {
  const r = state.region;
  const rows = r ? facts(r) : [];
  refill(byId('producer'), JSON.stringify(rows), () => rows.flatMap(([name, value, title]) => [
    make('dt', { textContent: name, title: title ?? '' }), make('dd', { textContent: value }),
  ]));
  const observers = r?.observers ?? [];
  byId('observers').hidden = observers.length === 0;
  refill(byId('observers').tBodies[0], JSON.stringify(observers), () => observers.map(observer));
}

function facts(r) {
  const [median, p99, most] = r.publish_us ?? [];
  const share = r.region_bytes ? ` (${number((100 * r.changed_bytes) / r.region_bytes, 2)} %)` : '';
  return [
    ['state', r.state],
    ['process', String(r.pid || '–')],
    ['steps', `${number(r.steps_per_second, 3)} /s`],
    ['versions', `${number(r.versions_per_second, 3)} /s`],
    ['publish p50', duration(median), 'Time that the simulation spends in publish: median'],
    ['publish p99', duration(p99), '99 of 100 are shorter'],
    ['publish max', duration(most)],
    ['changed', size(r.changed_bytes) + share, 'By the newest version'],
    ['region', size(r.region_bytes)],
    ['held', size(r.held_bytes), 'Memory that versions take'],
    ['copied here', size(r.copied_bytes), 'Scattered pages that this server has copied'],
    ['published', String(r.publishes ?? '–')],
    ['skipped', String(r.skips ?? '–')],
    ['tracker', r.tracker || '–'],
    [
      'pages here',
      String(r.clients ?? '–'),
      'Browsers that look at this region through this server',
    ],
  ];
}

function observer({ pid, program, pinned, held_bytes: held, own }) {
  const who = `${pid} ${own ? 'view' : plain(program ?? '?')}`;
  const name = make('td', { textContent: who, title: who });
  const pins = pinned?.join(', ') || '–';
  const holds = make('td', { textContent: size(held) });
  return make('tr', {}, name, make('td', { textContent: pins, title: pins }), holds);
}
