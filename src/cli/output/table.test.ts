import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toPrintable } from '../../control-characters.ts';
import { printRecords } from '../resource-commands/print.ts';
import { Output } from './screen.ts';
import {
  createLayout,
  fitToWidth,
  formatCell,
  formatFields,
  formatHeader,
  formatRecordLine,
  measureTextWidth,
} from './table.ts';

const task = (id: string, name: string, more: object = {}) => ({
  task_id: id,
  due_date: '2027-03-01 00:00:00',
  task_name: name,
  notes: '',
  completed: '0',
  date_modified: '0000-00-00 00:00:00',
  ...more,
});

function tableOf(records: readonly Record<string, unknown>[], width: number | undefined, wanted?: string[]): string[] {
  const layout = createLayout(records, { lineWidth: width, requestedFields: wanted });
  return [formatHeader(layout), ...records.map((record) => formatRecordLine(layout, record))];
}

test('a table has the id, the name and the columns that are not empty', () => {
  assert.deepEqual(tableOf([task('7', 'Write'), task('12', 'Read it again')], undefined), [
    'TASK_ID  TASK_NAME      DUE_DATE',
    '7        Write          2027-03-01',
    '12       Read it again  2027-03-01',
  ]);
  assert.deepEqual(tableOf([task('7', 'Write', { completed: '1' })], undefined, ['completed', 'notes']), [
    'COMPLETED  NOTES',
    '1',
  ]);
});

test('no line is wider than the terminal: names are cut, and columns that do not fit are left out', () => {
  const records = [task('7', 'A name that goes on for much longer than anybody would like', { completed: '1' })];
  for (const width of [20, 40, 80, 200])
    for (const line of tableOf(records, width)) assert.ok(measureTextWidth(line) <= width, `${width}: ${line}`);
  assert.deepEqual(tableOf(records, 40), [
    'TASK_ID  TASK_NAME             COMPLETED',
    '7        A name that goes on…  1',
  ]);
});

test('a terminal without a reported size is treated as 80 columns wide', async () => {
  const printed: string[] = [];
  async function* pages() {
    yield [task('7', 'Write')];
  }
  await printRecords(new Output({ isTTY: true, columns: 0, write: (text) => printed.push(text) }), {}, pages());
  assert.deepEqual(printed, ['TASK_ID  TASK_NAME  DUE_DATE\n', '7        Write      2027-03-01\n']);
});

test('wide characters, combining marks and emoji count as many columns as on a terminal', () => {
  for (const [text, columns] of [
    ['plain', 5],
    ['日本語', 6],
    ['é', 1],
    ['👩‍👩‍👧', 2],
    ['한글', 4],
  ] as const)
    assert.equal(measureTextWidth(text), columns, text);
  assert.equal(fitToWidth('日本語', 5), '日本…');
  assert.equal(fitToWidth('日本語', 4), '日… ');
});

test('control sequences and bidirectional overrides never reach the terminal', () => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\r\ne\tf\u2028g\u0007';
  assert.equal(toPrintable(hostile), 'a\u{fffd}[2Jb\u{fffd}c\u{fffd}d e f\u{fffd}g\u{fffd}');
  const printed = [...tableOf([task('7', hostile)], 80), ...formatFields(task('7', hostile))].join('');
  assert.doesNotMatch(printed, /[\p{Cc}\u202e\u2028]/u);
});

test('a cell is short: dates without time, times to the minute, names of users, empty for none', () => {
  const people = [
    { user_id: '1', user_name: 'First' },
    { user_id: '2', user_name: 'Second' },
  ];
  assert.deepEqual(
    ['2027-03-01 00:00:00', '2027-03-01 14:30:59', '0000-00-00 00:00:00', people, null, ['a', 'b']].map(formatCell),
    ['2027-03-01', '2027-03-01 14:30', '', 'First, Second', '', 'a, b'],
  );
});

test('one record is printed field by field, and nested records as a table', () => {
  const attempts = [
    { outcome: '500', milliseconds: '7' },
    { outcome: '200', milliseconds: '12' },
  ];
  assert.deepEqual(formatFields({ id: '3', state: 'delivered', last_outcome: '', attempts }), [
    'id        3',
    'state     delivered',
    'attempts:',
    '  OUTCOME  MILLISECONDS',
    '  500      7',
    '  200      12',
  ]);
});
