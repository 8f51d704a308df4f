import type pg from 'pg';

/** Accounts and hooks as this bench numbers them: ten hooks an account, the first of them told of `new_event`. */
export const HOOKS_OF_AN_ACCOUNT = 10;

export const bellOf = (accountId: number) => (accountId - 1) * HOOKS_OF_AN_ACCOUNT + 1;

/** The account with very many hooks that all have work at once. */
export const NOISY_ACCOUNT = 1_000_000_000;
const NOISY_HOOKS = 1_000;

const KINDS = "array['new_client','new_project','new_task','new_subtask','completed_task','completed_subtask']";

/** Makes accounts up to a number, those that are there left as they are, and tells the database of it. */
export async function seedAccounts(client: pg.Client, from: number, to: number): Promise<void> {
  const range = [from, to];
  await client.query(
    `insert into accounts (account_id, domain, company_name, date_created)
     select n, 'a' || n || '.test', 'Account ' || n, 0 from generate_series($1::int8, $2::int8) n`,
    range,
  );
  await client.query(
    'insert into positions (account_id, position) select n, 0 from generate_series($1::int8, $2::int8) n',
    range,
  );
  await client.query(
    `insert into users (user_id, account_id, email, first_name, last_name, role, date_created)
     select n, n, 'owner@a' || n || '.test', 'Account', 'Owner', 'owner', 0 from generate_series($1::int8, $2::int8) n`,
    range,
  );
  await client.query(
    `insert into hooks (hook_id, account_id, user_id, kind, target, date_created)
     select (a - 1) * ${HOOKS_OF_AN_ACCOUNT} + k, a, a, case k when 1 then 'new_event' else (${KINDS})[1 + k % 6] end,
       'https://receiver-' || a || '.test/' || k || '/' || md5(a || '-' || k), 0
     from generate_series($1::int8, $2::int8) a, generate_series(1, ${HOOKS_OF_AN_ACCOUNT}) k`,
    range,
  );
  await client.query(
    `insert into targets (target_hash, account_id, hook_id)
     select encode(sha256(target::bytea), 'hex'), account_id, hook_id from hooks where account_id between $1 and $2`,
    range,
  );
  await client.query('vacuum analyze');
}

/** The noisy account, and its hooks; answers the hooks. */
export async function seedNoisy(client: pg.Client): Promise<{ from: number; to: number }> {
  const from = NOISY_ACCOUNT;
  const to = from + NOISY_HOOKS - 1;
  await client.query(
    "insert into accounts (account_id, domain, company_name, date_created) values ($1, 'noisy.test', 'Noisy', 0)",
    [NOISY_ACCOUNT],
  );
  await client.query('insert into positions (account_id, position) values ($1, 0)', [NOISY_ACCOUNT]);
  await client.query(
    `insert into users (user_id, account_id, email, first_name, last_name, role, date_created)
     values ($1, $1, 'owner@noisy.test', 'Account', 'Owner', 'owner', 0)`,
    [NOISY_ACCOUNT],
  );
  await client.query(
    `insert into hooks (hook_id, account_id, user_id, kind, target, date_created)
     select h, $1, $1, 'new_client', 'https://noisy.test/' || md5(h::text), 0 from generate_series($2::int8, $3::int8) h`,
    [NOISY_ACCOUNT, from, to],
  );
  return { from, to };
}

/** Owes so many deliveries to the first hook of each account of a range, as commits would have; answers how many. */
export async function oweToBells(client: pg.Client, from: number, to: number, each: number): Promise<number> {
  const { rowCount } = await client.query(
    `with taken as (
       update positions set position = position + $3 where account_id between $1 and $2 returning account_id, position
     )
     insert into owed (account_id, user_id, hook_id, position, kind, record_id, owed_at)
     select account_id, account_id, (account_id - 1) * ${HOOKS_OF_AN_ACCOUNT} + 1, position - $3 + n, 'new_event', 0,
       (extract(epoch from clock_timestamp()) * 1000)::int8
     from taken, generate_series(1, $3::int8) n order by n, account_id`,
    [from, to, each],
  );
  return rowCount ?? 0;
}

/** Owes so many deliveries to each hook of the noisy account. */
export async function oweToNoisy(client: pg.Client, each: number): Promise<void> {
  await client.query(
    `with taken as (update positions set position = position + $2 where account_id = $1 returning position)
     insert into owed (account_id, user_id, hook_id, position, kind, record_id, owed_at)
     select $1, $1, hook_id, taken.position - $2 + n, 'new_client', 0, (extract(epoch from clock_timestamp()) * 1000)::int8
     from taken, hooks, generate_series(1, $2::int8) n where hooks.account_id = $1`,
    [NOISY_ACCOUNT, each],
  );
}
