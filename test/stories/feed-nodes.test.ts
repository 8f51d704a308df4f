import assert from 'node:assert/strict';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { personAt } from '../kit/nodes.ts';
import { shared } from '../kit/stores.ts';

for (const { test, testService, database: newDatabase } of shared) {
  const NODES = 3;
  const WRITERS = 4;
  const EVENTS = 40;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test('X2 three nodes write to one account concurrently: positions have no gaps, and followers at every node read them in order', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(Array.from({ length: NODES }, () => testService(t, { database })));
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    const owner = await first.account('acme.test');
    const people = nodes.map((node) => personAt(node, owner));
    const total = NODES * WRITERS * EVENTS;

    // Each follower reads small pages with a wait while others write.
    const following = people.map(async ({ carillon }) => {
      const seen: number[] = [];
      for (let after = '0'; seen.length < total; ) {
        const { data, next } = await carillon.notifications.list({ after, limit: 7, wait: 5 });
        seen.push(...data.map((entry) => Number(entry.cursor)));
        after = next;
      }
      return seen;
    });
    const writers = people.flatMap(({ carillon }) =>
      Array.from({ length: WRITERS }, async () => {
        const ids: string[] = [];
        for (let count = 0; count < EVENTS; count += 1) ids.push((await carillon.events.create(event)).event_id);
        return ids;
      }),
    );
    const ids = (await Promise.all(writers)).flat();
    const expected = Array.from({ length: total }, (_, index) => index + 1);
    for (const seen of await Promise.all(following)) assert.deepEqual(seen, expected);

    const { read } = await openAt(t, database, { as: 'command' });
    const rows = await read
      .selectFrom('occurrences')
      .select(['position', 'record_id', 'occurred_at'])
      .orderBy('position')
      .execute();
    assert.deepEqual(
      rows.map((row) => row.position),
      expected,
    );
    assert.deepEqual(rows.map((row) => String(row.record_id)).sort(), ids.sort(), 'each event occurs once');
    const times = rows.map((row) => row.occurred_at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      'times of an account never decrease',
    );
  });

  test('X2 rejected and rolled-back requests at any node take no position', async (t) => {
    const database = await newDatabase(t);
    const nodes = await Promise.all(Array.from({ length: NODES }, () => testService(t, { database })));
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    const owner = await first.account('acme.test');
    const people = nodes.map((node) => personAt(node, owner));
    const { event_id: doomed } = await owner.carillon.events.create(event);
    // Exactly one of these succeeds. The others find no record after their transaction has begun.
    const deleted = await Promise.all(
      [...people, ...people, ...people].map(({ carillon }) =>
        carillon.events.delete(doomed).then(
          () => 'deleted',
          (error: { code: string }) => error.code,
        ),
      ),
    );
    assert.deepEqual(
      deleted.filter((one) => one !== 'not_found'),
      ['deleted'],
    );
    await Promise.all(people.map(({ carillon }) => carillon.events.create(event)));
    const { data } = await eventually(
      () => owner.carillon.notifications.list(),
      (page) => page.data.length === NODES + 2,
    );
    assert.deepEqual(
      data.map((entry) => Number(entry.cursor)),
      [1, 2, 3, 4, 5],
    );
  });
}
