import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { carillonJson } from '../../kit/command.ts';
import { eventually } from '../../kit/eventually.ts';
import { freePort } from '../../kit/port.ts';
import type { SeededChance } from '../../kit/random.ts';
import { type Started, startProcess as startOurs } from '../../kit/start-service.ts';
import { check, countFaults, type Fault, formatFault } from '../checker/check.ts';
import { inspectDatabase } from '../checker/db-integrity.ts';
import { checkDuplicates } from '../checker/duplicate-budget.ts';
import type { Crash } from '../checker/history.ts';
import {
  BASE,
  type Endpoint,
  type Observers,
  readCrash,
  readDatabase,
  startObservers,
  untilDelivered,
  WATCHED,
} from '../workload/observers.ts';

/** What hooks are told of: two of the same, so that one telling can be lost without the other. */
const hookKinds = ['new_event', 'new_event', 'new_client'] as const;

/** What a start rejects with that was killed, whether it had said where it is by then or not. */
export const KILLED = 'The service did not start. ';

/** Whoever was killed as hooks were made at it has ended by then. */
const EXIT_TIMEOUT_MS = 1_000;

/** A service that ends and is started again on one database, over and over, and its observers. */
export type CrashLoop = {
  readonly observers: Observers;
  /** Starts it, and lets clients through. Rejects where it does not come up; that is a fault unless it is meant. */
  start(meant?: StartFault): Promise<Started>;
  /** It has died: nobody is let through, and what it has left is looked at. */
  recordCrash(when: string): Promise<void>;
  /**
   * Does it all, with a service that is left running; then lets what is pending be told, stops it, and lays the history side by
   * side. What broke off is a fault like any other.
   */
  runAndCheck(work: () => Promise<void>): Promise<LoopResult>;
};

/** What some loop came to, in the words of a figure. */
export type LoopResult = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

/** A start that something is done to: what stands before its command, what else is in its environment. */
export type StartFault = {
  readonly runBy?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
};

export type CrashLoopOptions = {
  /** What `--database` takes. */
  readonly database: string;
  readonly random: SeededChance;
  /** Another source than this one. */
  readonly startProcess?: typeof startOurs;
  readonly environment?: Readonly<Record<string, string>>;
};

export async function startCrashLoop(context: Cleanup, options: CrashLoopOptions): Promise<CrashLoop> {
  const { database, random, startProcess = startOurs, environment = {} } = options;
  const observers = await startObservers(context, { random, writers: 4, restMs: 4 });
  const failedStarts: string[] = [];
  const integrityFaults: string[] = [];
  const crashes: Crash[] = [];
  let service: Started | undefined;
  let headers: Endpoint['headers'] | undefined;
  let endpoint: Endpoint | undefined;
  const unsubscribedKinds = [...hookKinds];
  let asked = 0;
  atEnd(context, () => service?.process.kill('SIGKILL'));

  /** Makes the hooks at the first one that loop for so long; whoever died before it said its key is asked for another. */
  async function endpointOf({ baseUrl, domain, key }: Started): Promise<Endpoint> {
    headers ??= domain === undefined || key === undefined ? await anotherKey(database) : { domain, key };
    for (let [kind] = unsubscribedKinds; kind !== undefined; [kind] = unsubscribedKinds) {
      asked += 1;
      await observers.subscribe({ baseUrl, headers }, `/hook${asked}`, kind);
      unsubscribedKinds.shift();
    }
    return { baseUrl, headers };
  }

  async function finish(): Promise<readonly Fault[]> {
    observers.recover();
    await observers.stop();
    await untilDelivered(database);
    const code = await service?.stop('SIGTERM');
    if (code !== 0) integrityFaults.push(`exit code ${code} after SIGTERM`);
    await inspectDatabase(database, async (found) => void integrityFaults.push(...found));
    return check(observers.history(await readDatabase(database, BASE)));
  }

  return {
    observers,
    async start(meant) {
      const port = String(await freePort());
      observers.expectOrigin(`http://127.0.0.1:${port}`);
      const surroundings = { CARILLON_DATABASE: database, CARILLON_PORT: port, ...WATCHED, ...environment };
      const begun = await startProcess({ ...surroundings, ...meant?.environment }, undefined, meant?.runBy).catch(
        (error: unknown) => {
          if (meant === undefined) failedStarts.push(String(error));
          throw error;
        },
      );
      service = begun;
      try {
        endpoint = await endpointOf(begun);
      } catch (error) {
        const { process } = begun;
        await eventually(() => process.signalCode, Boolean, EXIT_TIMEOUT_MS).catch(() => undefined);
        if (process.signalCode === 'SIGKILL') throw new Error(KILLED);
        await begun.stop('SIGKILL');
        throw error;
      }
      observers.routeTo(endpoint);
      return begun;
    },
    async recordCrash(when) {
      observers.routeTo();
      await inspectDatabase(database, async (found, copy) => {
        integrityFaults.push(...found.map((line) => `${when}: ${line}`));
        // Before there was a hook nobody was told, and there may be no tables yet.
        if (endpoint !== undefined) crashes.push(await observers.recordCrash(() => readCrash(copy)));
      });
    },
    async runAndCheck(work) {
      const faults: Fault[] = [];
      const broken: string[] = [];
      try {
        await work();
        faults.push(...(await finish()));
      } catch (error) {
        broken.push(`broke off: ${error}`);
      }
      broken.push(...faults.map(formatFault), ...integrityFaults.map((line) => `the database: ${line}`));
      broken.push(...checkDuplicates(observers.arrivals, crashes).broken);
      broken.push(...observers.tally.others.map((one) => `a client was answered ${one}`));
      return { counts: counted(faults, observers, { failedStarts, integrityFaults }), broken };
    },
  };
}

function counted(
  faults: readonly Fault[],
  { tally }: Observers,
  { failedStarts, integrityFaults }: { failedStarts: readonly string[]; integrityFaults: readonly string[] },
): LoopResult['counts'] {
  const {
    'acknowledged and lost': lost = 0,
    'pending and not delivered': untold = 0,
    'delivered without a record': phantom = 0,
  } = countFaults(faults);
  return {
    acknowledged: tally.acknowledged,
    'requests without a response': tally.unanswered.length,
    'answered 503': tally.refused,
    'acknowledged and lost': lost,
    'pending and not delivered': untold,
    'delivered without a record': phantom,
    'other violations': faults.length - lost - untold - phantom,
    'database integrity errors': integrityFaults.length,
    'failed restarts': failedStarts.length,
  };
}

async function anotherKey(database: string): Promise<Endpoint['headers']> {
  const domain = 'carillon.localhost';
  const wanted = ['keys', 'create', '--database', database, '--domain', domain, '--email', `owner@${domain}`];
  const { key } = await carillonJson(wanted);
  return { domain, key };
}
