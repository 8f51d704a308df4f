import { once } from 'node:events';
import pg from 'pg';
import { latencies, rounded } from './measured.ts';
import { bellOf } from './scale-seed.ts';

// What the same database does by bare SQL over one connection: the floor of each figure of bench/scale.

const CLAIMS_A_STATEMENT = 500;
const SETTLEMENTS_A_WRITE = 200;

async function connect(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return client;
}

/** From one connection to another, then a lane taken and its work read: the round trips of a wake-up. */
export async function wakeUps(address: string, accounts: number, count: number) {
  const [teller, hearer] = [await connect(address), await connect(address)];
  await hearer.query('listen floor');
  const taken: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const hookId = bellOf(1 + (turn % accounts));
    const begun = performance.now();
    const heard = once(hearer, 'notification');
    await teller.query("select pg_notify('floor', $1)", [String(hookId)]);
    await heard;
    await hearer.query('begin');
    await hearer.query('update hooks set generation = generation + 1 where hook_id = $1 returning target', [hookId]);
    await hearer.query('commit');
    await hearer.query('select * from owed where hook_id = $1 order by position limit 32', [hookId]);
    taken.push(performance.now() - begun);
  }
  await Promise.all([teller.end(), hearer.end()]);
  return latencies(taken);
}

/** Lanes a second that one connection takes, as many at once as an engine does. */
export async function claimsPerSecond(address: string, accounts: number): Promise<number | null> {
  const client = await connect(address);
  const begun = performance.now();
  for (let first = 1; first + CLAIMS_A_STATEMENT <= accounts + 1; first += CLAIMS_A_STATEMENT) {
    const hookIds = Array.from({ length: CLAIMS_A_STATEMENT }, (_, index) => bellOf(first + index));
    await client.query(
      'update hooks set lease_owner = 1, generation = generation + 1 where hook_id = any($1) returning hook_id, target',
      [hookIds],
    );
  }
  const claimed = Math.floor(accounts / CLAIMS_A_STATEMENT) * CLAIMS_A_STATEMENT;
  const perSecond = claimed / ((performance.now() - begun) / 1_000);
  await client.query('update hooks set lease_owner = 0 where lease_owner = 1');
  await client.end();
  return rounded(perSecond);
}

/** Deliveries a second that one connection writes down: into the history, off what is owed. */
export async function settledPerSecond(address: string): Promise<number | null> {
  const client = await connect(address);
  const begun = performance.now();
  let settled = 0;
  for (;;) {
    await client.query('begin');
    const { rows } = await client.query<{ delivery_id: string; hook_id: string }>(
      'select delivery_id, hook_id from owed order by delivery_id limit $1',
      [SETTLEMENTS_A_WRITE],
    );
    if (rows.length === 0) break;
    const ids = rows.map((row) => row.delivery_id);
    await client.query(
      `insert into attempts (account_id, hook_id, delivery_id, attempted_at, outcome, milliseconds, counted, reason)
       select account_id, hook_id, delivery_id, owed_at, '200', 1, 0, 'delivered' from owed where delivery_id = any($1)`,
      [ids],
    );
    await client.query('select hook_id from hooks where hook_id = any($1) order by hook_id for no key update', [
      rows.map((row) => row.hook_id),
    ]);
    await client.query(
      `insert into settled (delivery_id, account_id, user_id, hook_id, position, kind, record_id, owed_at, settled_at, state)
       select delivery_id, account_id, user_id, hook_id, position, kind, record_id, owed_at, owed_at, 'delivered'
       from owed where delivery_id = any($1)`,
      [ids],
    );
    await client.query('delete from owed where delivery_id = any($1)', [ids]);
    await client.query('commit');
    settled += rows.length;
  }
  await client.query('rollback');
  await client.end();
  return rounded(settled / ((performance.now() - begun) / 1_000));
}
