import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { apiKey, Carillon, type Kind, kinds } from '../packages/sdk/src/index.ts';
import { startProcess } from '../test/kit/start-service.ts';
import { hangBell, type Ring } from './bell.ts';
import { enterSchedule, type Schedule } from './release-calendar.ts';

// Carillon at its main job, on real input: the release schedule of Node.js goes in, and a receiver hears of it all.

const schedule: Schedule = JSON.parse(readFileSync(new URL('./node-release-schedule.json', import.meta.url), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'carillon-demo-'));
const WAITS = '400ms,800ms';

/** When each request that causes something began, by what will be told. */
const begun = new Map<string, number>();
const rings: Ring[] = [];
const told = new Map<string, Ring>();
const showing: Promise<void>[] = [];
const milliseconds: number[] = [];
const say = (line: string) => process.stdout.write(`${line}\n`);
const progress = (line: string) => {
  if (process.stdout.isTTY) process.stdout.write(`\u001b[2K${line}\r`);
};

const service = await startProcess({
  CARILLON_DATABASE: `sqlite:${join(folder, 'carillon.db')}`,
  CARILLON_PORT: '0',
  CARILLON_RETRY_WAITS: WAITS,
});
const { baseUrl, domain = '', key = '' } = service;
const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }) });
say(`A service runs at ${baseUrl} on a fresh database.`);

let failuresLeft = 2;
const bell = await hangBell((ring) => {
  if (ring.path === '/fails-twice' && failuresLeft > 0) {
    failuresLeft -= 1;
    return 503;
  }
  if (ring.path === '/unsubscribes') return 401;
  return ring.path === '/always-fails' ? 500 : 200;
}, hear);

function hear(ring: Ring): void {
  rings.push(ring);
  if (told.has(ring.deliveryId)) return;
  told.set(ring.deliveryId, ring);
  showing.push(show(ring));
}

/** Follows the address, as a subscriber would, and prints what is there. */
async function show(ring: Ring): Promise<void> {
  const { record } = await carillon.notified(ring.resourceUrl);
  const name = Object.entries(record).find(([field]) => field.endsWith('_name'))?.[1];
  const causedBy = `${ring.path.slice(1)} ${ring.resourceUrl}`;
  // A notification can be here before the answer of the request that caused it.
  for (let tries = 0; !begun.has(causedBy) && tries < 200; tries += 1) await wait(5);
  const began = begun.get(causedBy);
  const tookMs = began === undefined ? undefined : ring.at - began;
  if (tookMs !== undefined) milliseconds.push(tookMs);
  const took = tookMs === undefined ? '' : `${tookMs.toFixed(1)} ms`;
  say(
    `${ring.path.slice(1).padEnd(18)} ${took.padStart(9)}  ${ring.resourceUrl.slice(baseUrl.length).padEnd(18)} ${name ?? ''}`,
  );
}

/** Remembers when a request began, for whatever it will cause to be told. */
async function timed<T>(
  work: () => Promise<T>,
  causes: (result: T) => readonly (readonly [Kind, string])[],
): Promise<T> {
  const began = performance.now();
  const result = await work();
  for (const [kind, path] of causes(result)) begun.set(`${kind} ${baseUrl}/v2/${path}`, began);
  return result;
}

for (const kind of kinds) await carillon.hooks.create({ target_url: bell.at(`/${kind}`), event: kind });
say(`A receiver is subscribed to all ${kinds.length} kinds. Entering the release schedule of Node.js:\n`);

const { created, dates } = await enterSchedule(carillon, schedule, timed, (done, all) =>
  progress(`${done} of ${all} release lines`),
);
await settled();

say('\nThree receivers that misbehave:');
const sick = ['/fails-twice', '/unsubscribes', '/always-fails'];
const hooks = new Map<string, string>();
for (const path of sick)
  hooks.set(path, (await carillon.hooks.create({ target_url: bell.at(path), event: 'new_client' })).id);
await carillon.clients.create({ client_name: 'A client that three sick receivers are told of' });
for (const path of sick) {
  const hook = await until(
    () => carillon.hooks.get(hooks.get(path) ?? ''),
    (one) => one.state === 'ended' || one.last_outcome === '200',
  );
  const attempts = rings.filter((ring) => ring.path === path).length;
  const state = hook.state === 'ended' ? `removed: ${hook.ended_reason}` : `${hook.state}, recovered`;
  say(`${path.slice(1).padEnd(18)} ${attempts} attempt${attempts === 1 ? '' : 's'}, ${state}`);
}
await settled();

const pending = (await carillon.deliveries.list({ limit: 1 })).paging.total_records;
const delivered = (await carillon.deliveries.list({ limit: 1, state: 'delivered' })).paging.total_records;
const givenUp = (await carillon.deliveries.list({ limit: 1, state: 'undelivered' })).paging.total_records;
const lost = pending - delivered - givenUp + Math.max(0, pending - told.size);
milliseconds.sort((a, b) => a - b);
const percentile = (share: number) =>
  (milliseconds[Math.floor((milliseconds.length - 1) * share)] ?? Number.NaN).toFixed(1);
say(`
created    ${created + 1} records, from ${Object.keys(schedule).length} release lines and ${dates} dates
pending       ${pending} notifications
told       ${told.size}, of which ${givenUp} to hooks that were removed
lost       ${lost}
request → arrival   p50 ${percentile(0.5)} ms, p95 ${percentile(0.95)} ms`);

await bell.close();
await service.stop('SIGTERM');
rmSync(folder, { recursive: true, force: true });
process.exitCode = lost === 0 && told.size === pending ? 0 : 1;

/** Waits until nothing is pending for a live hook, and everything told has been shown. */
async function settled(): Promise<void> {
  await until(
    () => carillon.deliveries.list({ limit: 1, state: 'pending' }),
    (page) => page.paging.total_records === 0,
  );
  await Promise.all(showing);
}

async function until<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (const giveUpAt = performance.now() + 20_000; ; await wait(20)) {
    const answer = await ask();
    if (wanted(answer) || performance.now() > giveUpAt) return answer;
  }
}
