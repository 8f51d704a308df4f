import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import { type StartedProcess, startProcess as startOurs } from '../../kit/service/service-process.ts';
import { check, countViolations, formatViolation, type Violation } from '../checker/check.ts';
import { inspectDatabase } from '../checker/db-integrity.ts';
import { checkDuplicates } from '../checker/duplicate-budget.ts';
import type { Crash, Pause } from '../checker/history.ts';
import {
  type Endpoint,
  HISTORY_BASE_URL,
  OBSERVED_SERVICE_OPTIONS,
  type Observers,
  readCrash,
  readDatabase,
  startObservers,
  untilDelivered,
} from '../workload/observers.ts';

/**
 * Kinds of the hooks. Two hooks have the same kind, so that a delivery that one of them lost shows in the
 * comparison with the other.
 */
const hookKinds = ['new_event', 'new_event', 'new_client'] as const;

/** Error message of a start that was killed, before or after the service reported its address. */
export const START_KILLED_MESSAGE = 'The service did not start. ';

/** Maximum time until the exit of a process that was killed while hooks were created. */
const EXIT_TIMEOUT_MS = 1_000;

/** Starts and kills a service on one database repeatedly, and observes the service. */
export type CrashLoop = {
  readonly observers: Observers;
  /**
   * Starts the service and lets clients through. Rejects if it does not start, which is a fault unless one is
   * injected.
   */
  start(fault?: InjectedFault): Promise<StartedProcess>;
  /** Records that the service has died: stops the clients and inspects the database. */
  recordCrash(when: string): Promise<void>;
  /**
   * Runs `work`, which must leave a service running. Then waits until all pending deliveries are delivered, stops
   * the service and checks the history. An exception in `work` counts as a fault.
   */
  runAndCheck(work: () => Promise<void>): Promise<LoopResult>;
};

/** Counters and violations of one crash loop. */
export type LoopResult = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

/** A fault that is injected into a start: a command that wraps the service, and additional environment variables. */
type InjectedFault = {
  readonly runBy?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
};

export type CrashLoopOptions = {
  /** Value of `--database`. */
  readonly database: string;
  readonly random: SeededRandom;
  /** Starts the service; the control run passes a function that starts another copy of the source. */
  readonly startProcess?: typeof startOurs;
  readonly environment?: Readonly<Record<string, string>>;
};

export async function startCrashLoop(context: Cleanup, options: CrashLoopOptions): Promise<CrashLoop> {
  const { database, random, startProcess = startOurs, environment = {} } = options;
  const observers = await startObservers(context, { random, writers: 4, restMs: 4 });
  const failedStarts: string[] = [];
  const integrityFaults: string[] = [];
  const crashes: Crash[] = [];
  let service: StartedProcess | undefined;
  let headers: Endpoint['headers'] | undefined;
  let endpoint: Endpoint | undefined;
  const unsubscribedKinds = [...hookKinds];
  let requestedHooks = 0;
  atEnd(context, () => service?.process.kill('SIGKILL'));

  /**
   * Creates the hooks as soon as a service lives long enough. If the first service died before it printed its key,
   * a new key is created.
   */
  async function prepareEndpoint({ baseUrl, domain, key }: StartedProcess): Promise<Endpoint> {
    headers ??= domain === undefined || key === undefined ? await createKey(database) : { domain, key };
    for (let [kind] = unsubscribedKinds; kind !== undefined; [kind] = unsubscribedKinds) {
      requestedHooks += 1;
      await observers.subscribe({ baseUrl, headers }, `/hook${requestedHooks}`, kind);
      unsubscribedKinds.shift();
    }
    return { baseUrl, headers };
  }

  async function finish(): Promise<readonly Violation[]> {
    observers.recover();
    await observers.stop();
    await untilDelivered(database);
    const code = await service?.stop('SIGTERM');
    if (code !== 0) integrityFaults.push(`exit code ${code} after SIGTERM`);
    await inspectDatabase(database, async (found) => void integrityFaults.push(...found));
    return check(observers.history(await readDatabase(database, HISTORY_BASE_URL)));
  }

  return {
    observers,
    async start(fault) {
      const port = String(await findFreePort());
      observers.expectOrigin(`http://127.0.0.1:${port}`);
      const startEnvironment = {
        CARILLON_DATABASE: database,
        CARILLON_PORT: port,
        ...OBSERVED_SERVICE_OPTIONS,
        ...environment,
      };
      const started = await startProcess({ ...startEnvironment, ...fault?.environment }, undefined, fault?.runBy).catch(
        (error: unknown) => {
          if (fault === undefined) failedStarts.push(String(error));
          throw error;
        },
      );
      service = started;
      try {
        endpoint = await prepareEndpoint(started);
      } catch (error) {
        const { process } = started;
        await eventually(() => process.signalCode, Boolean, EXIT_TIMEOUT_MS).catch(() => undefined);
        if (process.signalCode === 'SIGKILL') throw new Error(START_KILLED_MESSAGE);
        await started.stop('SIGKILL');
        throw error;
      }
      observers.routeTo(endpoint);
      return started;
    },
    async recordCrash(when) {
      observers.routeTo();
      await inspectDatabase(database, async (found, copy) => {
        integrityFaults.push(...found.map((line) => `${when}: ${line}`));
        // Without a hook nothing is delivered, and the tables may not exist yet.
        if (endpoint !== undefined) crashes.push(await observers.recordCrash(() => readCrash(copy)));
      });
    },
    async runAndCheck(work) {
      const faults: Violation[] = [];
      const broken: string[] = [];
      try {
        await work();
        faults.push(...(await finish()));
      } catch (error) {
        broken.push(`aborted: ${error}`);
      }
      broken.push(...faults.map(formatViolation), ...integrityFaults.map((line) => `the database: ${line}`));
      broken.push(...checkDuplicates(observers.arrivals, crashes).broken);
      broken.push(...observers.tally.others.map((one) => `a client got ${one}`));
      return { counts: countersOf(faults, observers, { failedStarts, integrityFaults }), broken };
    },
  };
}

function countersOf(
  faults: readonly Violation[],
  { tally }: Observers,
  { failedStarts, integrityFaults }: { failedStarts: readonly string[]; integrityFaults: readonly string[] },
): LoopResult['counts'] {
  const {
    'acknowledged and lost': lost = 0,
    'pending and not delivered': undelivered = 0,
    'delivered without a record': phantom = 0,
  } = countViolations(faults);
  return {
    acknowledged: tally.acknowledged,
    'requests without a response': tally.unanswered.length,
    'answered 503': tally.refused,
    'acknowledged and lost': lost,
    'pending and not delivered': undelivered,
    'delivered without a record': phantom,
    'other violations': faults.length - lost - undelivered - phantom,
    'database integrity errors': integrityFaults.length,
    'failed restarts': failedStarts.length,
  };
}

async function createKey(database: string): Promise<Endpoint['headers']> {
  const domain = 'carillon.localhost';
  const command = ['keys', 'create', '--database', database, '--domain', domain, '--email', `owner@${domain}`];
  const { key } = await runCarillonJson(command);
  return { domain, key };
}

/** Options of a service that is paused. The short timeout lets a pause outlast every attempt in flight. */
export const PAUSE_OPTIONS = { CARILLON_ATTEMPT_TIMEOUT: '5s' } as const;
/** Length of a pause: longer than the attempt timeout, and short enough for a test. */
export const PAUSE_MS = 6_000;

/** Pauses a process in the middle of its work, as a container or a virtual machine is paused. */
export async function pause(process: ChildProcess): Promise<Pause> {
  const from = performance.now();
  process.kill('SIGSTOP');
  // SIGSTOP takes effect only when the process is scheduled.
  while ((await processStateOf(process)) !== 'T') await wait(1);
  const stoppedAt = performance.now();
  await wait(PAUSE_MS);
  const to = performance.now();
  process.kill('SIGCONT');
  return { from, stoppedAt, to };
}

async function processStateOf({ pid }: ChildProcess): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
}
