import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { killAndCompare } from '../../proof/kills.ts';
import { compare } from '../../demo/ledgers.ts';
import { startProcess } from '../../demo/started.ts';
import { apiKey, Carillon } from '../../src/sdk/index.ts';
import { eventually } from '../harness/eventually.ts';
import { stores } from '../harness/stores.ts';
import { startTarget } from '../harness/target.ts';

for (const { test, serviceProcess } of stores) {
  const KILLS = 6;

  test('C16 C20 killed with SIGKILL under load, over and over: nothing acknowledged is lost, everything owed is told', async (t) => {
    const report = await killAndCompare({ kills: KILLS, writers: 6, lifeMs: [150, 500] });
    assert.equal(report.kills.length, KILLS);
    for (const kill of report.kills) assert.ok(kill.owed > 0);
    assert.deepEqual(report.lost, [], 'acknowledged and lost');
    assert.deepEqual(report.untold, [], 'owed and not told');
    assert.deepEqual(report.phantom, [], 'told and not there');
    assert.deepEqual(report.unexplained, [], 'told twice although no kill had left it owed');
    assert.equal(report.liveHooks, report.hooks, 'a crash of ours is no failure of theirs (C19)');
    assert.equal(report.exitCode, 0);
    assert.ok(report.acknowledged >= 10 * KILLS, `${report.acknowledged} acknowledged`);
    assert.equal(report.heard, report.due + report.repeated);
    t.diagnostic(`${report.acknowledged} acknowledged, ${report.heard} heard, ${report.repeated} of them twice`);
  });

  test('C19 C20 killed in the middle of an attempt: it is made again after the start, under the same id, and no failure counts', async (t) => {
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response), 200);
    const first = await serviceProcess(t);
    const { id } = await first.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
    const { event_id } = await first.carillon.events.create(event);
    await target.arrived(1);
    assert.equal(await first.stop('SIGKILL'), null);

    const second = await startProcess({ CARILLON_DATABASE: first.database, CARILLON_PORT: '0' });
    t.after(() => second.process.kill('SIGKILL'));
    assert.deepEqual([second.domain, second.key], [undefined, undefined], 'no account is made a second time');
    const [before, after] = await target.arrived(2);
    assert.equal(after?.deliveryId, before?.deliveryId);
    assert.equal(after?.resourceUrl, `${second.baseUrl}/v2/events/${event_id}`);
    const auth = apiKey({ domain: first.domain ?? '', key: first.key ?? '' });
    const carillon = new Carillon({ baseUrl: second.baseUrl, auth });
    const hook = await eventually(
      () => carillon.hooks.get(id),
      (one) => one.last_outcome === '200',
    );
    assert.deepEqual([hook.state, hook.failures], ['live', '0']);
    const { attempts } = await carillon.deliveries.get(after?.deliveryId ?? '');
    assert.deepEqual(
      attempts.map((attempt) => attempt.outcome),
      ['200'],
    );
  });

  test('the ledgers disagree where they should', () => {
    const agreed = {
      acknowledged: new Set(['a', 'b']),
      stored: new Set(['a', 'b', 'c']),
      arrived: new Map([['/hook', new Map(Object.entries({ a: 1, b: 3, c: 1 }))]]),
      concerns: () => true,
    };
    assert.deepEqual(compare(agreed), { lost: [], untold: [], phantom: [], repeated: 2 });
    assert.deepEqual(compare({ ...agreed, stored: new Set(['a', 'c']) }), {
      lost: ['b'],
      untold: [],
      phantom: ['/hook b'],
      repeated: 2,
    });
    assert.deepEqual(compare({ ...agreed, stored: new Set(['a', 'b', 'c', 'd']) }).untold, ['/hook d']);
    const nobody = { ...agreed, concerns: () => false };
    assert.deepEqual(compare(nobody).phantom, ['/hook a', '/hook b', '/hook c']);
  });
}
