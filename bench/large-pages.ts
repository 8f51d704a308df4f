import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Inserter } from '../src/transfer/insert.ts';
import { within } from '../test/harness/cleanup.ts';
import { openAt } from '../test/harness/database.ts';
import { plainRow } from '../test/harness/plain-row.ts';
import { headersOf, makeAccounts } from './accounts.ts';
import { type Fill, type Scenario, scenarios } from './large-records.ts';
import { keepStudy } from './results.ts';
import { type Database, databases, Stage } from './stage.ts';

// The largest answers that the limits of the fields allow: how many bytes, how long the event loop stands still, and how
// much memory they take: the first time, of a service that was just started, and the longest of some more times.
const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    only: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  },
});

const MIB = 2 ** 20;
const ROWS_A_WRITE = 1_000;

/** Longer than any answer takes that is of use. */
const ANSWER_TIMEOUT_MS = 300_000;
const SETTLE_MS = 300;

/** How often it is asked once more. */
const MORE_TIMES = 5;

type Watched = { readonly longestMs: number; readonly peak: number; readonly rss: number };

async function fillDatabase(database: string, { fill }: Scenario): Promise<void> {
  await within(async (context) => {
    const store = await openAt(context, database);
    const inserter = new Inserter();
    const insert: Fill = async (table, count, row) => {
      for (let begin = 0; begin < count; begin += ROWS_A_WRITE) {
        const turns = Array.from({ length: Math.min(ROWS_A_WRITE, count - begin) }, (_, index) => begin + index);
        const rows = turns.map((turn) => plainRow(table, { account_id: 1, ...row(turn) }));
        await store.write((tx) => inserter.insert(tx.queries, table, rows));
      }
    };
    await fill(insert);
  });
}

async function measure(stage: Stage, database: Database, scenario: Scenario): Promise<object> {
  const where = await stage.newDatabase(database);
  const [account] = await makeAccounts(where, 1);
  if (account === undefined) throw new Error('there is an account');
  await fillDatabase(where, scenario);
  const file = join(stage.folder, 'watched');
  const preload = fileURLToPath(new URL('./loop-watched.ts', import.meta.url));
  const service = await stage.service(where, { NODE_OPTIONS: `--import=${preload}`, WATCHED_BY: file });
  const watched = async (): Promise<Watched> => {
    service.process.kill('SIGUSR2');
    await wait(SETTLE_MS);
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  const ask = async (path: string) => {
    const answer = await fetch(service.baseUrl + path, {
      headers: headersOf(account),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const { byteLength } = await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return { bytes: byteLength, link: answer.headers.get('link') !== null };
  };
  await ask('/v2/user');
  await wait(SETTLE_MS);
  const before = await watched();
  const asked = performance.now();
  const { bytes, link } = await ask(scenario.path);
  const ms = performance.now() - asked;
  const first = await watched();
  for (let turn = 0; turn < MORE_TIMES; turn += 1) await ask(scenario.path);
  const more = await watched();
  await service.stop('SIGTERM');
  return {
    'answer MiB': rounded(bytes / MIB),
    'more follows': link,
    seconds: rounded(ms / 1_000),
    'longest block ms, first time': rounded(first.longestMs),
    'longest block ms, then': rounded(more.longestMs),
    'memory before MiB': Math.round(before.rss / MIB),
    'memory at the peak MiB': Math.round(Math.max(first.peak, more.peak) / MIB),
  };
}

const rounded = (value: number) => Math.round(value * 100) / 100;

const results: Record<string, object> = {};
for (const database of databases.filter((one) => one === (values.database ?? one))) {
  for (const scenario of scenarios.filter(({ name }) => name.includes(values.only))) {
    const came = await within(async (context) => {
      try {
        return await measure(new Stage(context), database, scenario);
      } catch (error) {
        return { failed: String(error) };
      }
    });
    results[`${scenario.name}, on ${database}`] = came;
    process.stdout.write(`${scenario.name}, on ${database}: ${JSON.stringify(came)}\n`);
  }
}
if (values.keep) keepStudy('large-pages', results);
