import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { Json } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { type Operation, operationsIn } from './document.ts';
import { type Fixture, newFixture } from './fixture.ts';
import { writeInjectionTexts } from './injections.ts';
import { RawConnection, sendMalformed } from './raw-client.ts';
import { corrupt, corruptionNames, createValidRequest, type RequestDraft, serializeDraft } from './requests.ts';
import { responseChecker } from './response-checks.ts';
import { draftsWithUnstorableText } from './unstorable.ts';
import { validValue } from './values.ts';

/** Reliability test R11: every response is one that the OpenAPI document describes. */
export const fuzz: ReliabilityTest = {
  id: 'R11',
  name: 'fuzz',
  title: 'the service gets generated, malformed and hostile requests',
  promise: 'the OpenAPI document contains every response, and none is a 5xx',
  unit: 'requests',
  quick: 7_000,
  full: 1_000_000,
  execute,
};

type PartResult = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

async function execute(run: RunParameters): Promise<RunResult> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const share = Math.ceil(run.count / run.stores.length);
  // The databases are tested concurrently, because each test mostly waits for its own service.
  const each = run.stores.map(async (store) => {
    const written = await runCorpora(store, run);
    return { store, parts: [written, await runGenerated(store, Math.max(share - written.requests, 1_000), run)] };
  });
  for (const { store, parts } of await Promise.all(each)) {
    for (const part of parts) {
      for (const [what, count] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + count;
      broken.push(...part.broken.map((line) => `${store.name}: ${line}`));
    }
  }
  return { counts, broken };
}

/** Sends the fixed inputs: malformed requests, and injection texts for every field. */
async function runCorpora(
  store: TestStore,
  { context, seed }: RunParameters,
): Promise<PartResult & { requests: number }> {
  const service = await store.serviceProcess(context, { CARILLON_LOG_LEVEL: 'debug' });
  let logged = '';
  service.process.stderr?.on('data', (text: string) => {
    logged += text;
  });
  const { sent, broken } = await sendMalformed(service, seed);
  const injected = await writeInjectionTexts({ ...service, logged: () => logged, context });
  const ended = await service.stop('SIGTERM');
  return {
    requests: sent + injected.requests,
    counts: {
      'malformed requests': sent,
      'requests with injection texts': injected.requests,
      'texts read back unchanged': injected.written,
    },
    broken: [...broken, ...injected.broken, ...(ended === 0 ? [] : [`the service exited with ${ended}`])],
  };
}

async function runGenerated(store: TestStore, count: number, run: RunParameters): Promise<PartResult> {
  const { requests, accepted, broken } = await fuzzResponses(store, count, run);
  return { counts: { 'generated requests': requests, 'of these, accepted': accepted }, broken };
}

/** Number of concurrent connections. */
const CONNECTIONS = 24;
/** Number of requests to one account before a new account is created. */
const REQUESTS_PER_FIXTURE = 500;

/**
 * Minimum share of valid requests that each operation must accept. If all were rejected, the test would show
 * nothing. The share is low because records end and are deleted during the run.
 */
const MIN_ACCEPTED_SHARE = 0.1;

export type FuzzResult = {
  readonly requests: number;
  readonly good: number;
  readonly accepted: number;
  readonly broken: string[];
};

/** Generates requests from the OpenAPI document of a running service and checks every response against it. */
async function fuzzResponses(
  store: TestStore,
  count: number,
  { seed, context, log }: RunParameters,
): Promise<FuzzResult> {
  const service = await store.serviceProcess(context, {
    CARILLON_LOG_LEVEL: 'warn',
    CARILLON_RETRY_WAITS: '50ms,100ms',
  });
  const { baseUrl, database, process: child } = service;
  const broken: string[] = [];
  const logged = collectText(child.stderr);
  const accounts = await openStoreAt(context, database, { openAs: 'command' });
  // One hook in eight ends at its first notification, so that the number of live hooks stays small.
  const target = await startTarget(context, (response, { path }) =>
    response.writeHead(Number(path.slice(1)) % 8 > 0 ? 200 : 401).end(),
  );
  let targets = 0;
  const nextTarget = () => {
    targets += 1;
    return target.urlOf(`/${targets}`);
  };
  const document: Json = await (await fetch(`${baseUrl}/openapi.json`)).json();
  const operations = operationsIn(document);
  // Imports are sent rarely, because each file is parsed in its own process and takes as long as a hundred other
  // requests.
  const fastOperations = operations.filter(({ path }) => !path.endsWith('/import'));
  const check = responseChecker(document, operations);
  const tally = new Map(operations.map(({ name }) => [name, { good: 0, taken: 0 }]));
  let [requests, accepted, validCount] = [0, 0, 0];

  /** Sends one request and checks its response. */
  async function sendAndCheck(line: RawConnection, fixture: Fixture, draft: RequestDraft): Promise<void> {
    requests += 1;
    const bytes = serializeDraft(draft);
    try {
      const reply = await line.send(bytes, draft.method);
      const fault = check(draft, reply);
      if (fault !== undefined) broken.push(`${fault}\n${shellCommand(bytes)}`);
      fixture.learn(draft, reply);
      if (reply.status >= 300) return;
      accepted += 1;
      if (draft.corruptions.length === 0) count2xx(draft);
    } catch (error) {
      const died = child.exitCode === null ? '' : `; the service exited with ${child.exitCode}`;
      broken.push(`${error instanceof Error ? error.message : error}${died}\n${shellCommand(bytes)}`);
    }
  }

  function count2xx({ operation }: RequestDraft): void {
    const one = tally.get(operation.name);
    if (one !== undefined) one.taken += 1;
  }

  async function runConnection(random: SeededRandom, share: number): Promise<void> {
    const line = new RawConnection(baseUrl);
    let fixture = await newFixture(accounts, baseUrl, nextTarget);
    for (let index = 0; index < share && child.exitCode === null && broken.length < 200; index += 1) {
      if (index % REQUESTS_PER_FIXTURE === REQUESTS_PER_FIXTURE - 1)
        fixture = await newFixture(accounts, baseUrl, nextTarget);
      const operation = random.integerBelow(20) === 0 ? random.pick(operations) : random.pick(fastOperations);
      const draft = createValidRequest(operation, fixture.caller, fixture, random);
      const faults = random.pick([0, 0, 1, 1, 1, 2, 4]);
      for (let fault = 0; fault < faults; fault += 1) corrupt(draft, random.pick(corruptionNames), random, fixture);
      const one = tally.get(operation.name);
      if (draft.corruptions.length === 0 && one !== undefined) {
        one.good += 1;
        validCount += 1;
      }
      await sendAndCheck(line, fixture, draft);
    }
    line.close();
  }

  /** Tests every place that takes a text, one after the other. Random requests would miss most of these places. */
  async function sweep(random: SeededRandom): Promise<void> {
    const line = new RawConnection(baseUrl);
    for (const operation of fastOperations) {
      const fixture = await newFixture(accounts, baseUrl, nextTarget);
      const createDraft = () => createValidRequest(operation, fixture.caller, fixture, random);
      const sampleOf = (name: string, schema: Json) => validValue(name, schema, fixture, random);
      const cursors = await fetchCursors(operation, async (query) => {
        const { headers } = await line.send(serializeDraft({ ...createDraft(), query }), operation.method);
        return headers.get('link');
      });
      for (const draft of draftsWithUnstorableText(operation, createDraft, sampleOf, cursors))
        await sendAndCheck(line, fixture, draft);
    }
    line.close();
  }

  const rootRandom = seededRandom(seed);
  await sweep(rootRandom.fork());
  const share = Math.ceil(count / CONNECTIONS);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => runConnection(rootRandom.fork(), share)));
  for (const [name, { good, taken }] of tally) {
    // The lower bound has a tolerance of three standard deviations, and is at least one request.
    const minAccepted = Math.max(1, good * MIN_ACCEPTED_SHARE - 3 * Math.sqrt(good * MIN_ACCEPTED_SHARE));
    if (good >= 20 && taken < minAccepted) broken.push(`${name} accepted ${taken} of ${good} valid requests`);
  }
  if (child.exitCode !== null) broken.push(`the service exited with ${child.exitCode}`);
  const ended = await service.stop('SIGTERM');
  if (ended !== 0) broken.push(`the service exited with ${ended}: ${logged.text.slice(-2_000)}`);
  for (const line of logged.text.split('\n')) {
    if (line.includes('"level":50') || line.includes('"level":60')) broken.push(`it logged ${line}`);
  }
  log(`${store.name}: ${requests} requests, ${accepted} accepted`);
  return { requests, good: validCount, accepted, broken };
}

/** Returns cursors of the second page of a list, in each of its orders. */
async function fetchCursors(
  { method, query }: Operation,
  linkOf: (query: RequestDraft['query']) => Promise<string | undefined>,
): Promise<{ cursor: string; query: RequestDraft['query'] }[]> {
  if (method !== 'GET' || !query.some(({ name }) => name === 'offset')) return [];
  const orders: readonly string[] = query.find(({ name }) => name === 'order')?.schema.enum ?? [];
  const found: { cursor: string; query: RequestDraft['query'] }[] = [];
  for (const order of [undefined, ...orders]) {
    const asked: RequestDraft['query'] =
      order === undefined
        ? [['limit', '1']]
        : [
            ['limit', '1'],
            ['order', order],
          ];
    const [, cursor] = /[?&]after=([\w-]+)/.exec((await linkOf(asked)) ?? '') ?? [];
    if (cursor !== undefined) found.push({ cursor, query: asked });
  }
  return found;
}

/** Returns the request as a shell command that repeats it: `printf '…' | nc`. */
function shellCommand(bytes: Buffer): string {
  return `printf ${JSON.stringify(bytes.subarray(0, 2_000).toString('latin1')).replaceAll('%', '%%')}`;
}

function collectText(stream: NodeJS.ReadableStream | null): { text: string } {
  const collected = { text: '' };
  stream?.on('data', (chunk: Buffer | string) => {
    collected.text += String(chunk);
  });
  return collected;
}
