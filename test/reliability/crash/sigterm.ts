import { setTimeout as wait } from 'node:timers/promises';
import { startSecondNode } from '../../kit/service/nodes.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import { check, countViolations, formatViolation } from '../checker/check.ts';
import type { ClientCall, DatabaseContent } from '../checker/history.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { type PartialResult, runInShards, type Shard } from '../shards.ts';
import {
  HISTORY_BASE_URL,
  OBSERVED_SERVICE_OPTIONS,
  readDatabase,
  startObservers,
  type Tally,
  type Unanswered,
  untilDelivered,
} from '../workload/observers.ts';

export const stops: ReliabilityTest = {
  id: 'R13',
  name: 'stops',
  title: 'C19 C20 the service gets SIGTERM under load, and two nodes are restarted in turn',
  promise: 'the service exits within 10 s, every accepted request is answered, no delivery is lost or sent twice',
  unit: 'stops',
  quick: 3,
  full: 200,
  execute,
};

/** Number of stops before a new database is created, so that the final comparison stays small. */
const STOPS_PER_DATABASE = 40;

const STOP_TIMEOUT_MS = 10_000;

/**
 * Minimum time between the beginning of a stop and the close of idle connections. A request sent at that close was
 * never accepted, and no server can answer it. Requests that start earlier arrive before any connection is closed,
 * even if the client process is delayed between measuring and sending.
 */
const MIN_OPEN_MS = 50;

/** Number of nodes on each database. PostgreSQL has two, so that one of them always answers. */
const NODE_COUNTS = { SQLite: 1, PostgreSQL: 2 } as const;

async function execute(run: RunParameters): Promise<RunResult> {
  const tookMs: number[] = [];
  const { counts, broken } = await runInShards(run, { maxPerShard: STOPS_PER_DATABASE, postgresShare: 0.5 }, (some) =>
    runShard(some, tookMs),
  );
  tookMs.sort((a, b) => a - b);
  const longest = { 'median, ms': tookMs[tookMs.length >> 1] ?? 0, 'maximum, ms': tookMs.at(-1) ?? 0 };
  return { counts: { stops: tookMs.length, ...longest, ...counts }, broken };
}

async function runShard({ context, store, times, random }: Shard, tookMs: number[]): Promise<PartialResult> {
  const first = await store.serviceProcess(context, OBSERVED_SERVICE_OPTIONS);
  const nodes: ServiceProcess[] = [first];
  while (nodes.length < NODE_COUNTS[store.name])
    nodes.push(await startSecondNode(context, first, OBSERVED_SERVICE_OPTIONS));
  const observers = await startObservers(context, { random });
  for (const path of ['/events', '/events-too']) await observers.subscribe(first, path, 'new_event');
  await observers.subscribe(first, '/clients', 'new_client');
  const broken: string[] = [];
  const stoppedAt: number[] = [];
  const stop = async (node: ServiceProcess) => {
    const startedAt = performance.now();
    stoppedAt.push(startedAt);
    const code = await node.stop('SIGTERM');
    const ms = Math.round(performance.now() - startedAt);
    tookMs.push(ms);
    broken.push(...exitFaults(code, ms));
  };

  for (let time = 0; time < times; time += 1) {
    // Clients keep calling the stopping node as long as it accepts requests.
    observers.routeTo(...nodes);
    await wait(50 + random.integerBelow(250));
    await observers.untilAcknowledged(10);
    await observers.whenBusy();
    const stopping = nodes.shift();
    if (stopping !== undefined) await stop(stopping);
    nodes.push(await startSecondNode(context, first, OBSERVED_SERVICE_OPTIONS));
  }
  observers.recover();
  observers.routeTo(...nodes);
  await observers.stop();
  await untilDelivered(first.database);
  for (const node of nodes) broken.push(...exitFaults(await node.stop('SIGTERM'), 0));
  const { acknowledged, unanswered, newcomerAt } = observers.tally;
  const database = await readDatabase(first.database, HISTORY_BASE_URL);
  const faults = check(observers.history(database));
  const after = { stoppedAt, database, newcomerAt };
  const tooLate = unanswered.filter((one) => wasSentAtIdleClose(one, after));
  const neverAccepted = unanswered.filter((one) => wasNeverAccepted(one, after));
  const acceptedUnanswered = unanswered.filter((one) => !tooLate.includes(one) && !neverAccepted.includes(one));
  broken.push(
    ...unansweredFaults({ ...observers.tally, unanswered: acceptedUnanswered }),
    ...faults.map(formatViolation),
  );
  const counts = {
    acknowledged,
    'accepted and not answered': acceptedUnanswered.length,
    'sent while an idle connection was closed': tooLate.length,
    'connected while the listener closed': neverAccepted.length,
    notifications: observers.arrivals.length,
    'failures of the receiver': observers.arrivals.filter(({ answer }) => answer !== 200).length,
    ...countViolations(faults),
  };
  return { counts, broken };
}

/** Returns the faults in the exit of a service: a wrong exit code, and a slow stop. */
export function exitFaults(exitCode: number | null, ms: number): string[] {
  return [
    ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
    ...(ms <= STOP_TIMEOUT_MS ? [] : [`a stop took ${ms} ms`]),
  ];
}

/**
 * Returns the faults in the responses to clients (C20). With another node, or after the restart, every accepted
 * request must be answered and no request rejected.
 */
export function unansweredFaults({ unanswered, refused, others }: Omit<Tally, 'newcomerAt'>): string[] {
  return [
    ...unanswered.map(
      ({ why, onReusedConnection }) =>
        `C20 an accepted request got no response: ${why}${onReusedConnection ? ', on a kept-alive connection' : ''}`,
    ),
    ...(refused === 0 ? [] : [`C20 ${refused} requests got 503`]),
    ...others.map((one) => `C20 a client got ${one}`),
  ];
}

/** The times of the stops, and the content of the database at the end of the run. */
type RunEnd = Pick<Tally, 'newcomerAt'> & {
  readonly stoppedAt: readonly number[];
  readonly database: Pick<DatabaseContent, 'records'>;
};

/** Whether a request was sent while its idle connection was being closed, and had no effect. */
export function wasSentAtIdleClose({ call, onReusedConnection }: Unanswered, after: RunEnd): boolean {
  const sinceMs = sinceLastStop(call, after);
  return onReusedConnection && sinceMs >= MIN_OPEN_MS && sinceMs <= STOP_TIMEOUT_MS && hadNoEffect(call, after);
}

/**
 * Whether a request connected between the last accept and the close of the listener, and had no effect: the
 * system resets such a connection, and no service can prevent that. Connections are accepted in order, so no
 * later request of that node was answered.
 */
export function wasNeverAccepted({ call, onReusedConnection, at }: Unanswered, after: RunEnd): boolean {
  const isAfterLastAccepted = call.askedAt > (after.newcomerAt.get(at) ?? 0);
  return (
    !onReusedConnection &&
    isAfterLastAccepted &&
    sinceLastStop(call, after) <= STOP_TIMEOUT_MS &&
    hadNoEffect(call, after)
  );
}

/** Returns the milliseconds between the last stop and a request; infinite for a request before any stop. */
function sinceLastStop({ askedAt }: ClientCall, { stoppedAt }: RunEnd): number {
  return askedAt - (stoppedAt.findLast((at) => at <= askedAt) ?? Number.NEGATIVE_INFINITY);
}

function hadNoEffect(call: ClientCall, { database: { records } }: RunEnd): boolean {
  if (call.did === 'delete') return records.has(call.record);
  return call.did === 'occur' && ![...records.values()].includes(call.word);
}
