import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quick } from './quick.ts';
import { stops, wasTooLate, wrongAnswers, wrongWith } from './stops.ts';

quick(stops);

const sent = (askedAt: number) =>
  ({
    did: 'occur',
    kind: 'new_event',
    userId: '1',
    record: undefined,
    word: 'w1',
    askedAt,
    answeredAt: undefined,
  }) as const;

test('a stop that is slow, or says that it went wrong, and a request that nobody answered are named', () => {
  assert.deepEqual(wrongWith(0, 10_000), []);
  assert.deepEqual(wrongWith(1, 10_001), ['exit code 1', 'a stop took 10001 ms']);
  assert.deepEqual(wrongWith(null, 0), ['exit code null']);
  const well = { acknowledged: 9, unanswered: [], refused: 0, others: [] };
  const unanswered = [{ why: 'read ECONNRESET', onKept: false, call: sent(900) }];
  assert.deepEqual(wrongAnswers(well), []);
  assert.equal(wrongAnswers({ ...well, unanswered, refused: 1, others: ['500 {}'] }).length, 3);
});

test('only what was sent as an idle connection was closed, and came to nothing, was never taken', () => {
  const nothing = { records: new Map<string, string>() };
  assert.equal(wasTooLate(sent(1_250), [1_000], nothing), true);
  assert.equal(wasTooLate(sent(1_250), [1_000], { records: new Map([['/v2/events/1', 'w1']]) }), false, 'it was done');
  assert.equal(wasTooLate(sent(1_049), [1_000], nothing), false, 'no connection was closed by then');
  assert.equal(wasTooLate(sent(900), [1_000], nothing), false, 'nobody was stopping');
});
