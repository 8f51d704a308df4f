import assert from 'node:assert/strict';
import { personAt } from '../kit/nodes.ts';
import { startProxy } from '../kit/proxy.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService, database: newDatabase } of shared) {
  /** Much longer than it takes to send a few statements one after the other: what waits for no answer is one burst. */
  const ONE_WAY_MS = 25;
  const MOST = 3;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test(`a hot write takes ${MOST} round trips to the database at the most`, async (t) => {
    const database = await newDatabase(t);
    const near = await testService(t, { database, options: { role: 'api' } });
    const owner = await near.account('acme.test');
    const proxy = await startProxy(t, database, ONE_WAY_MS);
    // It delivers nothing, so that what is counted is the request.
    const far = await testService(t, { database: proxy.database, options: { role: 'api' } });
    const { carillon } = personAt(far, owner);
    const target = await startTarget(t);

    /** The transaction of one call, as bursts. */
    async function transactionOf(call: () => Promise<unknown>): Promise<string[]> {
      // Known to the node, and every statement to its connection.
      await call();
      await carillon.user.get();
      const known = new Map(proxy.passages.map((passage) => [passage, passage.bursts.length]));
      await call();
      const sent = proxy.passages.map((passage) =>
        passage.bursts.slice(known.get(passage) ?? 0).map(({ text }) => text),
      );
      // Beside it the node writes down, now and then, when a key was used.
      const transactions = sent.filter((bursts) => bursts.some((text) => text.includes('begin;')));
      const [bursts = [], ...more] = transactions.filter((one) => !one.some((text) => text.includes('last_used')));
      assert.equal(more.length, 0);
      return bursts;
    }

    const { project_id } = await owner.carillon.projects.create({ project_name: 'Home' });
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await owner.carillon.events.create(event)).event_id);
    let next = 0;
    const [some = ''] = ids;
    const nextId = () => {
      next += 1;
      return ids[next] ?? '';
    };
    const counts = new Map<string, number>();
    // A machine that is busy sends one burst as two, and never two as one: what was fewest is what it takes.
    const count = async (what: string, call: () => Promise<unknown>) => {
      let fewest = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < 3 && fewest > MOST; tries += 1) {
        fewest = Math.min(fewest, (await transactionOf(call)).length);
      }
      counts.set(what, fewest);
    };
    await count('POST /v2/events', () => carillon.events.create(event));
    await count('POST /v2/events with a project', () => carillon.events.create({ ...event, project_id }));
    await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await count('POST /v2/events with a hook', () => carillon.events.create(event));
    await count('POST /v2/events for a user, with a project', () =>
      carillon.events.create({ ...event, project_id, user_id: owner.userId }),
    );
    await count('PUT /v2/events/{event_id}', () => carillon.events.update(some, { event_name: 'Tock' }));
    await count('PUT /v2/events/{event_id} with a project', () => carillon.events.update(some, { project_id }));
    await count('DELETE /v2/events/{event_id}', () => carillon.events.delete(nextId()));
    await count('POST /v2/clients', () => carillon.clients.create({ client_name: 'Somebody' }));
    await count('POST /v2/events with an Idempotency-Key', () =>
      carillon.events.create(event, { idempotencyKey: `k${performance.now()}` }),
    );

    t.diagnostic([...counts].map(([what, trips]) => `${what}: ${trips}`).join('; '));
    for (const [what, trips] of counts) assert.ok(trips > 0 && trips <= MOST, `${what}: ${trips}`);
  });
}
