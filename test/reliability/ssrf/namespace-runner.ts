import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { HookKind } from '../../../packages/sdk/src/index.ts';
import { systemClock } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { openStore } from '../../../src/store/open.ts';
import { eventually } from '../../kit/eventually.ts';
import { startNameServer } from '../../kit/network/nameserver.ts';
import { type ServiceProcess, startServiceProcess } from '../../kit/service/service-process.ts';
import {
  addressesOf,
  countStillPending,
  forbiddenForms,
  hostOf,
  insertHooks,
  isMalformed,
  portOf,
  publicForms,
  readOutcomes,
} from './cases.ts';
import { hostileReplies, isExpressibleInDns, rebindingNames } from './dns-rebinding.ts';
import { connectWithoutGuard, listenEverywhere, type UniversalListener } from './loopback.ts';
import { connectedAddress, isUnconnectable, parseAddress } from './oracle.ts';

/**
 * Port of the service. The service listens on loopback, but its base URL has another host, so that loopback
 * targets stay forbidden.
 */
const PORT = '7070';
/** Number of deliveries to each rebinding name. */
const DELIVERIES_PER_NAME = 20;
const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
const REDIRECT_HOSTS = ['127.0.0.1', '169.254.169.254', '[::1]', '10.0.0.1', 'localhost'];

const counts: Record<string, number> = {};
const broken: string[] = [];
const endings: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void endings.push(close) };
const log = (line: string) => void process.stderr.write(`${line}\n`);
// This process exits when the parent process has exited, which also ends the namespace.
process.stdin.on('end', () => process.exit(1)).resume();

// Only forms whose names a hosts file or a DNS record can express are used.
const forms = forbiddenForms.filter(
  (form) => hostOf(form) === 'zone.example' || addressesOf(form).every(isExpressibleInDns),
);
const folder = process.env.FOLDER ?? '';
const protocolByPort = new Map(
  [...forms, ...publicForms].map((form) => [portOf(form), new URL(form).protocol] as const),
);
const listeners = await listenEverywhere(context, protocolByPort as ReadonlyMap<number, 'http:' | 'https:'>, {
  key: readFileSync(join(folder, 'key.pem'), 'utf8'),
  cert: readFileSync(join(folder, 'cert.pem'), 'utf8'),
});
const nameServer = await startNameServer(context, hostileReplies(seededRandom(Number(process.argv[2]))), 53);
await verifyListeners(listeners);

const database = `sqlite:${join(folder, 'carillon.db')}`;
const service = await startServiceProcess(context, database, {
  CARILLON_PORT: PORT,
  CARILLON_BASE_URL: `http://carillon.example:${PORT}`,
  CARILLON_RETRY_WAITS: '20ms,20ms',
});
const store = await openStore({
  database: { scheme: 'sqlite', path: join(folder, 'carillon.db') },
  openAs: 'command',
  onFatal: (error) => {
    throw error;
  },
  clock: systemClock,
  log: createLog('silent'),
  durability: 'any',
});
context.after(() => store.close());

log('subscribing');
await checkRejections(service);
const insertedHooks = await insertHooks(store, forms);
const publicHooks = await createHooks(service, publicForms.map(withFormIndex), 'new_event');
const redirectHooks = await createHooks(service, createRedirectTargets(), 'new_event');
const rebindingHooks = await createHooks(
  service,
  rebindingNames.map((name) => `http://${name}/`),
  'new_client',
);

log('telling');
await service.carillon.events.create({ event_name: 'A bell', start_date: '20270301', due_date: '20270301' });
await untilQuiet();
const lookupsBefore = nameServer.queries.length;
for (let turn = 0; turn < DELIVERIES_PER_NAME && broken.length === 0; turn += 1) {
  await service.carillon.clients.create({ client_name: `Client ${turn}` });
  await untilQuiet();
}

const outcomes = await readOutcomes(store);
counts['hooks inserted without that check'] = insertedHooks.length;
counts['their deliveries that the guard rejected'] = checkOutcomes(insertedHooks, ['forbidden'], 3);
counts['redirects not followed'] = checkOutcomes(redirectHooks, REDIRECT_STATUSES.map(String), 3);
counts['public forms'] = publicForms.length;
checkOutcomes(publicHooks, ['200'], 1);
counts['public forms delivered'] = publicForms.filter(isDelivered).length;
counts['rebinding names'] = rebindingHooks.length;
counts['lookups of rebinding names by the service'] = nameServer.queries.length - lookupsBefore;
checkOutcomes(rebindingHooks, ['200', 'forbidden'], 3);
for (const word of ['200', 'forbidden']) {
  if (!rebindingHooks.some((hook) => outcomes.get(hook)?.includes(word)))
    broken.push(`no rebinding name was ever ${word}`);
}
const hits = listeners.hits();
counts['hits on forbidden addresses'] = hits.length;
for (const address of new Set(hits)) broken.push(`${address} was connected to`);

for (const close of endings.reverse()) await close();
process.stdout.write(JSON.stringify({ counts, broken }), () => process.exit(0));

/**
 * Verifies the listeners: connects to every address without the guard. If all connections arrive, no forbidden
 * connection can go unnoticed.
 */
async function verifyListeners(everywhere: UniversalListener): Promise<void> {
  const places = new Map(
    forms.flatMap((form) => addressesOf(form).map((address) => [`${address} ${portOf(form)}`, { address, form }])),
  );
  let reachable = 0;
  let unconnectable = 0;
  for (const { address, form } of places.values()) {
    const host = /^fe[89ab]/i.test(address) ? `${address}%lo` : address.replace('%eth0', '%lo');
    const fault = await connectWithoutGuard(host, portOf(form));
    if (fault === undefined) reachable += 1;
    else if (isUnconnectable(parseAddress(address))) unconnectable += 1;
    else broken.push(`the control does not reach ${host}: ${fault}`);
  }
  await eventually(
    () => everywhere.connections.length,
    (count) => count >= reachable,
  );
  counts['reachable addresses and ports, verified by dialing'] = reachable;
  counts['unreachable addresses and ports: multicast, broadcast'] = unconnectable;
  if (everywhere.hits().length === 0) broken.push('the control noticed no hit');
  everywhere.reset();
}

/** Checks that every forbidden form is rejected with 400 (C11). */
async function checkRejections({ baseUrl, headers }: ServiceProcess): Promise<void> {
  let rejectedCount = 0;
  for (const target_url of forms) {
    const body = JSON.stringify({ target_url, event: 'new_event' });
    const answer = await fetch(`${baseUrl}/v2/hooks`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    const word = isMalformed(target_url) ? '"message":"must' : '"message":"forbidden"';
    if (answer.status === 400 && text.includes(word)) rejectedCount += 1;
    else broken.push(`subscribing ${JSON.stringify(target_url)} answered ${answer.status} ${text}`);
  }
  counts['forms rejected when subscribing'] = rejectedCount;
}

async function createHooks(
  { carillon }: ServiceProcess,
  targets: readonly string[],
  event: HookKind,
): Promise<number[]> {
  const made: number[] = [];
  for (const target_url of targets) {
    const hook = await carillon.hooks.create({ target_url, event }).catch((error: unknown) => error);
    if (hook instanceof Error) broken.push(`subscribing ${target_url}: ${hook.message}`);
    else made.push(Number((hook as { id: string }).id));
  }
  return made;
}

/** Adds the index of the form to its query, so that its arrival can be identified. */
function withFormIndex(form: string, at: number): string {
  const [place = '', fragment] = form.split('#');
  return `${place}${place.includes('?') ? '&' : '?'}form=${at}${fragment === undefined ? '' : `#${fragment}`}`;
}

function isDelivered(form: string, at: number): boolean {
  const arrivals = listeners.requests.filter(({ url }) => new RegExp(`[?&]form=${at}$`).test(url));
  const expected = addressesOf(form).map((address) => connectedAddress(parseAddress(address)));
  const arrived =
    arrivals.length === 1 && expected.includes(connectedAddress(parseAddress(arrivals[0]?.address ?? '::')));
  if (!arrived) broken.push(`${JSON.stringify(form)} arrived ${arrivals.length} times, at ${arrivals[0]?.address}`);
  return arrived;
}

function createRedirectTargets(): string[] {
  return REDIRECT_STATUSES.flatMap((status) =>
    REDIRECT_HOSTS.map(
      (host) => `http://public.example/redirect?status=${status}&to=${encodeURIComponent(`http://${host}/stolen`)}`,
    ),
  );
}

async function untilQuiet(): Promise<void> {
  const left = await countStillPending(store);
  if (left > 0) broken.push(`${left} deliveries were not finalized`);
}

/**
 * Checks that each hook had at least `min` attempts, all with one of the outcomes in `words`. Returns the number
 * of attempts.
 */
function checkOutcomes(hooks: readonly number[], words: readonly string[], min: number): number {
  for (const hook of hooks) {
    const had = outcomes.get(hook) ?? [];
    if (had.length < min || !had.every((word) => words.includes(word))) {
      broken.push(`hook ${hook} should have been ${words}, and was ${had.join(', ') || 'not attempted'}`);
    }
  }
  return hooks.reduce((sum, hook) => sum + (outcomes.get(hook)?.length ?? 0), 0);
}
