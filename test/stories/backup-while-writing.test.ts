import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProcess } from '../../demo/started.ts';
import { countMissing } from '../../src/delivery/missing.ts';
import { apiKey, Carillon } from '../../src/sdk/index.ts';
import { carillonJson } from '../harness/command.ts';
import { openAt } from '../harness/database.ts';
import { startServiceProcess } from '../harness/process.ts';
import { temporaryFolder } from '../harness/service.ts';
import { startTarget } from '../harness/target.ts';

const ROUNDS = 3;
const WRITERS = 6;
/** What is there before the first backup begins, so that none of them is over in no time. */
const BEFORE = 600;

const event = { event_name: 'x'.repeat(200), start_date: '20270101', due_date: '20270102' };

test('C5 C16 C20 backups while everything is written and told: each restores to all that was acknowledged before it, and to ids never issued', async (t) => {
  const folder = temporaryFolder(t);
  const target = await startTarget(t);
  const service = await startServiceProcess(t, `sqlite:${join(folder, 'carillon.db')}`);
  const environment = { CARILLON_DATABASE: service.database };
  await service.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
  const acknowledged: number[] = [];
  const doomed = new Set<number>();
  let isOver = false;
  let slowestMs = 0;

  async function write(): Promise<void> {
    while (!isOver) {
      const begun = performance.now();
      const { event_id } = await service.carillon.events.create(event);
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      acknowledged.push(Number(event_id));
      if (acknowledged.length % 9 !== 0) continue;
      doomed.add(Number(event_id));
      await service.carillon.events.delete(event_id);
    }
  }
  const writers = Array.from({ length: WRITERS }, write);
  const backups: { file: string; before: readonly number[]; bytes: number; seconds: number }[] = [];
  await target.arrived(BEFORE);
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = [...acknowledged];
    const { file, bytes, seconds } = await carillonJson(['backup', '--to', join(folder, `${round}.db`)], {
      environment,
    });
    const during = acknowledged.length - before.length;
    assert.ok(during > 0, 'it went on being written');
    backups.push({ file, before, bytes, seconds });
    t.diagnostic(
      `${bytes} bytes in ${seconds} s, ${during} events made meanwhile, the slowest in ${Math.round(slowestMs)} ms`,
    );
  }
  isOver = true;
  await Promise.all(writers);
  assert.equal(await service.stop('SIGTERM'), 0);

  let lastEvent = Math.max(...acknowledged);
  const lastDelivery = () => Math.max(...target.received.map((one) => Number(one.deliveryId)));
  for (const [round, { file, before }] of backups.entries()) {
    const path = join(folder, `restored-${round}`, 'carillon.db');
    const database = `sqlite:${path}`;
    await carillonJson(['restore', '--database', database, '--from', file]);
    const store = await openAt(t, database, { as: 'command' });
    const there = new Set(
      (await store.read.selectFrom('events').select('event_id').execute()).map((row) => row.event_id),
    );
    assert.equal(await countMissing(store.read), 0, 'every occurrence has its record');
    const { position, epoch_start } = await store.read.selectFrom('positions').selectAll().executeTakeFirstOrThrow();
    assert.equal(position, epoch_start);
    await store.close();
    assert.deepEqual(
      before.filter((id) => !there.has(id) && !doomed.has(id)),
      [],
      'acknowledged before the backup and not in it',
    );

    const again = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: '0' });
    t.after(() => again.process.kill('SIGKILL'));
    assert.equal(again.key, undefined);
    const { domain = '', key = '' } = service;
    const carillon = new Carillon({ baseUrl: again.baseUrl, auth: apiKey({ domain, key }) });
    const [heard, deliveries] = [target.received.length, lastDelivery()];
    const { event_id } = await carillon.events.create(event);
    assert.ok(Number(event_id) > lastEvent, `${event_id} was issued before`);
    lastEvent = Number(event_id);
    const url = `${again.baseUrl}/v2/events/${event_id}`;
    for (let count = heard + 1; !target.received.some((one) => one.resourceUrl === url); count += 1)
      await target.arrived(count);
    const told = target.received.find((one) => one.resourceUrl === url);
    assert.ok(Number(told?.deliveryId) > deliveries, 'its Webhook-Id was never issued either');
    assert.equal(await again.stop('SIGTERM'), 0);
  }
});
