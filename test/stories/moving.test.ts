import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Attempt } from '../../src/delivery/transport/attempt.ts';
import { carillon, carillonJson } from '../kit/command.ts';
import { eventually } from '../kit/eventually.ts';
import { importKilled } from '../kit/export-import.ts';
import { furnish } from '../kit/furnished-account.ts';
import { temporaryFolder } from '../kit/service.ts';
import { isTaken } from '../kit/signed.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const options = { retryWaits: '1h,2h' };

for (const from of stores) {
  for (const to of stores) {
    from.test(
      `C5 C18 C20 X2 X8 moved to ${to.name}: pending deliveries keep their ids and secrets, and waits, ids and cursors continue`,
      async (t) => {
        const path = join(temporaryFolder(t), 'service.jsonl');
        const target = await startTarget(t);
        const attempt: Attempt = async ({ target: url }) =>
          url.endsWith('/sick')
            ? { kind: 'failed', cause: 'refused', ms: 1 }
            : { kind: 'ours', fault: 'no_route', ms: 1 };
        const source = await from.testService(t, { options, ports: { attempt } });
        const owner = await source.account('acme.test');
        const { hooks, events, clients, deliveries } = owner.carillon;
        const { id: sick } = await hooks.create({ target_url: target.at('/sick'), event: 'new_client' });
        const { id: well } = await hooks.create({ target_url: target.at('/well'), event: 'new_event' });
        const { secret } = await hooks.createSecret(well);
        await clients.create({ client_name: 'ACME' });
        const failing = await eventually(
          () => hooks.get(sick),
          (hook) => hook.state === 'failing',
        );
        for (let count = 0; count < 3; count += 1) await events.create(event);
        const { event_id: last } = await events.create(event);
        await events.delete(last);
        const pending = (await deliveries.list({ hook_id: well })).data.map(({ id }) => id);
        assert.equal(pending.length, 4);
        const feed = await source.call(owner, 'GET', '/v2/notifications');
        assert.equal(feed.json.data.length, 6);
        await source.stop();

        const moved = await carillonJson(['export', '--database', source.database, '--to', path]);
        const into = await to.database(t);
        assert.deepEqual(await carillonJson(['import', '--database', into, '--from', path]), moved);

        const destination = await to.testService(t, { options, database: into });
        const delivered = await target.arrived(4);
        assert.deepEqual(delivered.map(({ deliveryId }) => deliveryId).sort(), [...pending].sort());
        assert.deepEqual([...new Set(delivered.map((one) => one.path))], ['/well']);
        assert.ok(delivered.every((one) => isTaken(secret, one)));
        for (const { resourceUrl } of delivered) assert.ok(resourceUrl.startsWith(`${destination.baseUrl}/v2/events/`));

        const hook = await destination.call(owner, 'GET', `/v2/hooks/${sick}`);
        assert.deepEqual(hook.json.data, failing);
        const { next } = feed.json;
        const rest = await destination.call(owner, 'GET', `/v2/notifications?after=${next}`);
        assert.deepEqual([rest.status, rest.json.data, rest.json.next], [200, [], next]);
        const made = await destination.call(owner, 'POST', '/v2/events', event);
        assert.equal(made.json.data.event_id, String(Number(last) + 1));
        const after = await destination.call(owner, 'GET', `/v2/notifications?after=${next}`);
        assert.deepEqual(
          after.json.data.map(({ resource_url }: { resource_url: string }) => resource_url),
          [`${destination.baseUrl}/v2/events/${made.json.data.event_id}`],
        );
        assert.equal((await target.arrived(5)).length, 5);
      },
    );
  }
}

for (const { test, database, testService } of stores) {
  test('with an unfinished import no service starts and no command works, each with a one-line error', async (t) => {
    const path = join(temporaryFolder(t), 'service.jsonl');
    const source = await testService(t);
    const target = await startTarget(t);
    let hooks = 0;
    await furnish(await source.account('acme.test'), source, () => {
      hooks += 1;
      return target.at(`/${hooks}`);
    });
    await source.stop();
    const { rows } = await carillonJson(['export', '--database', source.database, '--to', path]);
    const into = await database(t);
    assert.equal(await importKilled(into, path, 'import', rows), 'SIGKILL');

    const expectedError =
      'An import into this database is incomplete: carillon import --resume continues it, carillon import --undo removes it.';
    const arrivedBefore = target.received.length;
    for (const args of [
      ['serve', '--port', '0'],
      ['keys', 'list', '--domain', 'acme.test'],
      ['accounts', 'create', '--domain', 'b.test', '--email', 'b@b.test'],
      ['export', '--to', '-'],
      ['import', '--from', path],
    ]) {
      const ended = await carillon([...args, '--database', into]);
      assert.deepEqual([ended.code, ended.stdout, ended.faults], [1, '', [expectedError]], args.join(' '));
    }
    assert.equal(target.received.length, arrivedBefore);
    const { sha256 } = await carillonJson(['import', '--database', into, '--from', path, '--resume']);
    assert.match(sha256, /^[0-9a-f]{64}$/);
    const destination = await testService(t, { database: into });
    assert.equal((await fetch(`${destination.baseUrl}/readyz`)).status, 200);
  });

  test('while a service runs, accounts can be exported, but not imported or removed', async (t) => {
    const folder = temporaryFolder(t);
    const running = await testService(t);
    const owner = await running.account('acme.test');
    await owner.carillon.events.create(event);
    const path = join(folder, 'acme.jsonl');
    const moved = await carillonJson(['export', '--database', running.database, '--domain', 'acme.test', '--to', path]);
    assert.deepEqual([moved.tables.accounts, moved.tables.events], [1, 1]);
    for (const args of [
      ['import', '--from', path],
      ['import', '--undo'],
      ['accounts', 'delete', '--domain', 'acme.test', '--exported', path],
    ]) {
      const ended = await carillon([...args, '--database', running.database]);
      assert.deepEqual([ended.code, ended.stdout, ended.faults.length], [1, '', 1], args.join(' '));
    }
    await owner.carillon.events.create(event);
    await running.stop();

    const late = await carillon([
      'accounts',
      'delete',
      '--database',
      running.database,
      '--domain',
      'acme.test',
      '--exported',
      path,
    ]);
    assert.equal(late.code, 1);
    assert.match(late.faults.join('\n'), /^positions: .*\nevents: 2 rows in the database, 1 in the file\.\n/m);
    const again = join(folder, 'again.jsonl');
    await carillonJson(['export', '--database', running.database, '--domain', 'acme.test', '--to', again]);
    const deletion = [
      'accounts',
      'delete',
      '--database',
      running.database,
      '--domain',
      'acme.test',
      '--exported',
      again,
    ];
    assert.equal((await carillonJson(deletion)).domain, 'acme.test');

    const there = await testService(t, { database: running.database });
    assert.equal((await there.call(owner, 'GET', '/v2/events')).status, 401);
    await there.stop();
    const back = await carillon(['import', '--database', running.database, '--from', again]);
    assert.deepEqual([back.code, back.faults], [0, []]);
    const whole = await testService(t, { database: running.database });
    assert.equal((await whole.call(owner, 'GET', '/v2/events')).json.data.length, 2);
  });
}
