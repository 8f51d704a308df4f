import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { testClock } from '../test/kit/clock.ts';
import { LogLines } from './log-writer.ts';

const full = () => Object.assign(new Error('full'), { code: 'EAGAIN' });

/** Takes so many octets, and then does as it is told. */
function sink(room: number, otherwise: () => number) {
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

test('what is said in one turn is written at once, in its order', async () => {
  const { write, said } = sink(1_000, () => 0);
  const lines = new LogLines(write, testClock());
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

test('where whoever reads is slow, the rest is kept and written when there is room', async () => {
  const { write, all, more } = sink(3, () => {
    throw full();
  });
  const clock = testClock();
  const lines = new LogLines(write, clock);
  lines.write('grüße\n');
  await turn();
  lines.write('more\n');
  more(1_000);
  clock.advance(10);
  assert.equal(all(), 'grüße\nmore\n');
});

test('nothing fails where nobody reads, and no more is held than there is room for', async () => {
  const { write, all, more } = sink(0, () => {
    throw full();
  });
  const lines = new LogLines(write, testClock());
  const line = `${'x'.repeat(1_023)}\n`;
  for (let count = 0; count < 2_000; count += 1) lines.write(line);
  more(10_000_000);
  lines.flushSync();
  assert.equal(all().length, 1_024 * 1_024);

  const gone = new LogLines(() => {
    throw Object.assign(new Error('gone'), { code: 'EPIPE' });
  }, testClock());
  gone.write('lost\n');
  gone.flushSync();
});

test('what was said last is written, however the process ends', () => {
  const said = (ending: string) => {
    const program = `import { createLog } from './src/log.ts'; createLog('info').info({ event: 'last' }); ${ending}`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    return stderr;
  };
  for (const ending of ['process.exit(3)', 'throw new Error("oh")', 'null'])
    assert.match(said(ending), /"last"/, ending);
});
