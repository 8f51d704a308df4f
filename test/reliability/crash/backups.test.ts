import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../checker/history.ts';
import { smokeTest } from '../smoke.ts';
import { inconsistencies, missingOrUnexpected } from './backups/wholeness.ts';
import { backups } from './backups.ts';

smokeTest(backups);

const at = (id: number) => `http://carillon/v2/events/${id}`;
const made = (id: number, askedAt: number): Call => ({
  did: 'occur',
  kind: 'new_event',
  userId: '1',
  record: at(id),
  word: `w${id}`,
  askedAt,
  answeredAt: askedAt + 1,
});
const fact = (kind: string, id: number) => ({ kind, userId: '1', record: at(id) });
const records = new Map([[at(1), 'w1']]);

test('a record without its occurrence, an occurrence without its record, and a deleted record are reported', () => {
  assert.deepEqual(inconsistencies({ records, occurrences: [fact('new_event', 1)] }), []);
  assert.deepEqual(
    inconsistencies({ records: new Map(), occurrences: [fact('new_event', 1), fact('deleted_event', 1)] }),
    [],
  );
  assert.equal(inconsistencies({ records, occurrences: [] }).length, 1);
  assert.equal(inconsistencies({ records: new Map(), occurrences: [fact('new_event', 1)] }).length, 1);
  assert.equal(inconsistencies({ records, occurrences: [fact('new_event', 1), fact('deleted_event', 1)] }).length, 1);
});

test('a backup contains what was acknowledged before it, and nothing that was requested after it', () => {
  const times = { beganAt: 100, endedAt: 200 };
  assert.deepEqual(missingOrUnexpected({ records }, [made(1, 10), made(2, 99.5), made(3, 150)], times), []);
  assert.equal(missingOrUnexpected({ records }, [made(1, 10), made(2, 20)], times).length, 1);
  assert.equal(missingOrUnexpected({ records }, [made(1, 300)], times).length, 1);
  const gone: Call = { did: 'delete', record: at(1), askedAt: 20, answeredAt: 30 };
  assert.deepEqual(missingOrUnexpected({ records: new Map() }, [made(1, 10), gone], times), []);
  assert.equal(missingOrUnexpected({ records }, [made(1, 10), gone], times).length, 1);
});
