import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit, inOrder, type Placed } from '../../console/src/screens/calendar/layout.ts';
import { daysOf, drawn } from '../../console/src/screens/calendar/time-math.ts';

/** Four weeks, from a Monday. */
const days = { from: '2027-02-01', to: '2027-02-28' };

function entry(id: string, start: string, due = start): Placed {
  const [from = '', clock = '00:00:00'] = start.split(' ');
  const times = drawn({ start_date: `${from} ${clock}`, due_date: due.length > 10 ? due : `${due} 00:00:00` });
  return { id, title: id, ...times, days: daysOf(times) };
}

const names = (entries: readonly Placed[]) => entries.map(({ id }) => id);

test('entries that fit are shown without a "more" entry', () => {
  const entries = [entry('a', '2027-02-01'), entry('b', '2027-02-01'), entry('c', '2027-02-01')];
  const { shown, more } = fit(entries, days, 3);
  assert.deepEqual([names(shown), [...more]], [['a', 'b', 'c'], []]);
});

test('with one entry too many, two are hidden to make room for the "more" entry', () => {
  const entries = ['a', 'b', 'c', 'd'].map((id) => entry(id, '2027-02-01'));
  const { shown, more } = fit(entries, days, 3);
  assert.deepEqual([names(shown), [...more]], [['a', 'b'], [['2027-02-01', 2]]]);
});

test('an entry that does not fit on one of its days is hidden on all of them, and counted on each', () => {
  const entries = [
    entry('long', '2027-02-01', '2027-02-03'),
    entry('longer', '2027-02-01', '2027-02-09'),
    ...['a', 'b', 'c'].map((id) => entry(id, '2027-02-02')),
  ].sort(inOrder);
  const { shown, more } = fit(entries, days, 2);
  assert.deepEqual(names(shown), ['longer']);
  assert.equal(more.get('2027-02-02'), 4);
  assert.equal(more.get('2027-02-03'), 1);
  assert.equal(more.get('2027-02-09'), undefined);
});

test('all-day entries are sorted before timed ones, longer ones first, in a stable order', () => {
  const entries = [
    entry('noon', '2027-02-01 12:00:00', '2027-02-01 13:00:00'),
    entry('b', '2027-02-01'),
    entry('a', '2027-02-01'),
    entry('long', '2027-02-01', '2027-02-05'),
    entry('before', '2027-01-20', '2027-02-02'),
  ];
  assert.deepEqual(names([...entries].sort(inOrder)), ['before', 'long', 'a', 'b', 'noon']);
  assert.deepEqual(names([...entries].reverse().sort(inOrder)), ['before', 'long', 'a', 'b', 'noon']);
});

test('with random entries, no day exceeds its rows, and every entry is shown or counted', () => {
  let state = 3;
  const next = (max: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
  const day = (number: number) => `2027-02-${String(number).padStart(2, '0')}`;
  for (let run = 0; run < 200; run += 1) {
    const entries = Array.from({ length: 60 }, (_, index) => {
      const from = 1 + next(28);
      return entry(`${index}`, day(from), day(Math.min(28, from + next(3) * next(8))));
    }).sort(inOrder);
    const rows = 1 + next(5);
    const { shown, more } = fit(entries, days, rows);
    for (let number = 1; number <= 28; number += 1) {
      const on = (some: readonly Placed[]) =>
        some.filter((one) => one.days.from <= day(number) && one.days.to >= day(number)).length;
      const hidden = more.get(day(number)) ?? 0;
      assert.equal(on(shown) + hidden, on(entries), day(number));
      assert.ok(on(shown) + (hidden > 0 ? 1 : 0) <= rows, day(number));
    }
  }
});
