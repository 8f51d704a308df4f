import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { styleText } from 'node:util';
import { createTestClock } from '../test/kit/clock.ts';
import { isPlainText } from './control-characters.ts';
import { formatTerminalLine, LogWriter } from './log-writer.ts';

const full = () => Object.assign(new Error('full'), { code: 'EAGAIN' });

/** Creates a sink that accepts `room` bytes, and then calls `otherwise` for further bytes. */
function createSink(room: number, otherwise: () => number) {
  let left = room;
  const taken: Buffer[] = [];
  const write = (octets: Uint8Array) => {
    if (left === 0) return otherwise();
    const some = Buffer.from(octets.subarray(0, left));
    left -= some.length;
    taken.push(some);
    return some.length;
  };
  const said = () => taken.map(String);
  const all = () => String(Buffer.concat(taken));
  return {
    write,
    said,
    all,
    more: (octets: number) => {
      left += octets;
    },
  };
}

test('the lines of one event-loop iteration are written together, in order', async () => {
  const { write, said } = createSink(1_000, () => 0);
  const lines = new LogWriter(write, createTestClock());
  lines.write('one\n');
  lines.write('two\n');
  assert.deepEqual(said(), []);
  await turn();
  assert.deepEqual(said(), ['one\ntwo\n']);
  lines.write('three\n');
  lines.flushSync();
  await turn();
  assert.deepEqual(said(), ['one\ntwo\n', 'three\n']);
});

test('with a slow reader, the rest is buffered and written when there is room', async () => {
  const { write, all, more } = createSink(3, () => {
    throw full();
  });
  const clock = createTestClock();
  const lines = new LogWriter(write, clock);
  lines.write('grüße\n');
  await turn();
  lines.write('more\n');
  more(1_000);
  void clock.advance(10);
  assert.equal(all(), 'grüße\nmore\n');
});

test('without a reader nothing fails, and the buffer is limited', async () => {
  const { write, all, more } = createSink(0, () => {
    throw full();
  });
  const lines = new LogWriter(write, createTestClock());
  const line = `${'x'.repeat(1_023)}\n`;
  for (let count = 0; count < 2_000; count += 1) lines.write(line);
  more(10_000_000);
  lines.flushSync();
  assert.equal(all().length, 1_024 * 1_024);

  const gone = new LogWriter(() => {
    throw Object.assign(new Error('gone'), { code: 'EPIPE' });
  }, createTestClock());
  gone.write('lost\n');
  gone.flushSync();
});

test('the last lines are written on any kind of exit', () => {
  const said = (ending: string) => {
    const program = `import { createLog } from './src/log.ts'; createLog('info').info({ event: 'last' }); ${ending}`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    return stderr;
  };
  for (const ending of ['process.exit(3)', 'throw new Error("oh")', 'null'])
    assert.match(said(ending), /"last"/, ending);
});

const at = new Date(2026, 10, 25, 9, 5, 3, 7).toISOString();
const terminal = (entry: object) => formatTerminalLine(JSON.stringify({ level: 30, time: at, ...entry }), false);

test('on a terminal a line is time, level, event and fields, and its values have visible ends', () => {
  assert.equal(
    terminal({ event: 'request', method: 'GET', status: 200, agent: 'curl 8', empty: '', list: [1, 'a'], none: null }),
    '09:05:03.007 INFO  request method=GET status=200 agent="curl 8" empty="" list=[1,"a"] none=null',
  );
  assert.equal(terminal({ level: 40, msg: 'a message' }), '09:05:03.007 WARN  a message');
});

test('on a terminal an error is its message, and its stack below the fields', () => {
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at one (a.ts:1)\n    at two (b.ts:2)' };
  assert.equal(
    terminal({ level: 60, event: 'fatal', err, code: 1 }),
    '09:05:03.007 FATAL fatal broken code=1\n      at one (a.ts:1)\n      at two (b.ts:2)',
  );
});

test('on a terminal no text of a line moves the cursor or begins another line', () => {
  const hostile = 'x\u001b[2J\r\nforged\u2028\u202e';
  const line = terminal({ event: hostile, field: hostile, err: { message: hostile, stack: `${hostile}\n${hostile}` } });
  const [first, ...calls] = line.split('\n');
  assert.ok(isPlainText(first ?? ''), line);
  for (const call of calls) assert.ok(isPlainText(call) && call.startsWith('  '), line);
  const colored = formatTerminalLine(JSON.stringify({ level: 50, time: at, event: 'fatal' }), true);
  assert.ok(colored.includes(`${styleText('red', 'ERROR', { validateStream: false })} fatal`));
});
