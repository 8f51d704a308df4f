import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { carillonJson } from '../../kit/command.ts';
import { eventually } from '../../kit/eventually.ts';
import { freePort } from '../../kit/port.ts';
import type { SeededChance } from '../../kit/random.ts';
import { type Started, startProcess as startOurs } from '../../kit/start-service.ts';
import { check, countFaults, type Fault, sayFault } from '../checker/check.ts';
import { lookAt } from '../checker/db-integrity.ts';
import { toldTwice } from '../checker/duplicate-budget.ts';
import type { Crash } from '../checker/history.ts';
import {
  BASE,
  type Door,
  readCrash,
  readDatabase,
  startWitnesses,
  untilTold,
  WATCHED,
  type Witnesses,
} from '../workload/observers.ts';

/** What hooks are told of: two of the same, so that one telling can be lost without the other. */
const told = ['new_event', 'new_event', 'new_client'] as const;

/** What a start rejects with that was killed, whether it had said where it is by then or not. */
export const KILLED = 'The service did not start. ';

/** Whoever was killed as hooks were made at it has ended by then. */
const EXIT_TIMEOUT_MS = 1_000;

/** A service that ends and is started again on one database, over and over, and its witnesses. */
export type Lives = {
  readonly witnesses: Witnesses;
  /** Starts it, and lets clients through. Rejects where it does not come up; that is a fault unless it is meant. */
  begin(meant?: Meant): Promise<Started>;
  /** It has died: nobody is let through, and what it has left is looked at. */
  died(when: string): Promise<void>;
  /**
   * Does it all, with a service that is left running; then lets what is pending be told, stops it, and lays the ledgers side by
   * side. What broke off is a fault like any other.
   */
  all(work: () => Promise<void>): Promise<Found>;
};

/** What some lives came to, in the words of a figure. */
export type Found = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

/** A start that something is done to: what stands before its command, what else is in its environment. */
export type Meant = { readonly runBy?: readonly string[]; readonly environment?: Readonly<Record<string, string>> };

export type LivesOptions = {
  /** What `--database` takes. */
  readonly database: string;
  readonly random: SeededChance;
  /** Another source than this one. */
  readonly startProcess?: typeof startOurs;
  readonly environment?: Readonly<Record<string, string>>;
};

export async function startLives(context: Cleanup, options: LivesOptions): Promise<Lives> {
  const { database, random, startProcess = startOurs, environment = {} } = options;
  const witnesses = await startWitnesses(context, { random, writers: 4, restMs: 4 });
  const failedStarts: string[] = [];
  const unsound: string[] = [];
  const crashes: Crash[] = [];
  let service: Started | undefined;
  let headers: Door['headers'] | undefined;
  let door: Door | undefined;
  const untold = [...told];
  let asked = 0;
  atEnd(context, () => service?.process.kill('SIGKILL'));

  /** Makes the hooks at the first one that lives for so long; whoever died before it said its key is asked for another. */
  async function doorOf({ baseUrl, domain, key }: Started): Promise<Door> {
    headers ??= domain === undefined || key === undefined ? await anotherKey(database) : { domain, key };
    for (let [kind] = untold; kind !== undefined; [kind] = untold) {
      asked += 1;
      await witnesses.subscribe({ baseUrl, headers }, `/hook${asked}`, kind);
      untold.shift();
    }
    return { baseUrl, headers };
  }

  async function finish(): Promise<readonly Fault[]> {
    witnesses.recover();
    await witnesses.stop();
    await untilTold(database);
    const code = await service?.stop('SIGTERM');
    if (code !== 0) unsound.push(`exit code ${code} after SIGTERM`);
    await lookAt(database, async (found) => void unsound.push(...found));
    return check(witnesses.ledgers(await readDatabase(database, BASE)));
  }

  return {
    witnesses,
    async begin(meant) {
      const port = String(await freePort());
      witnesses.expect(`http://127.0.0.1:${port}`);
      const surroundings = { CARILLON_DATABASE: database, CARILLON_PORT: port, ...WATCHED, ...environment };
      const begun = await startProcess({ ...surroundings, ...meant?.environment }, undefined, meant?.runBy).catch(
        (error: unknown) => {
          if (meant === undefined) failedStarts.push(String(error));
          throw error;
        },
      );
      service = begun;
      try {
        door = await doorOf(begun);
      } catch (error) {
        const { process } = begun;
        await eventually(() => process.signalCode, Boolean, EXIT_TIMEOUT_MS).catch(() => undefined);
        if (process.signalCode === 'SIGKILL') throw new Error(KILLED);
        await begun.stop('SIGKILL');
        throw error;
      }
      witnesses.through(door);
      return begun;
    },
    async died(when) {
      witnesses.through();
      await lookAt(database, async (found, copy) => {
        unsound.push(...found.map((line) => `${when}: ${line}`));
        // Before there was a hook nobody was told, and there may be no tables yet.
        if (door !== undefined) crashes.push(await witnesses.crashed(() => readCrash(copy)));
      });
    },
    async all(work) {
      const faults: Fault[] = [];
      const broken: string[] = [];
      try {
        await work();
        faults.push(...(await finish()));
      } catch (error) {
        broken.push(`broke off: ${error}`);
      }
      broken.push(...faults.map(sayFault), ...unsound.map((line) => `the database: ${line}`));
      broken.push(...toldTwice(witnesses.heard, crashes).broken);
      broken.push(...witnesses.tally.others.map((one) => `a client was answered ${one}`));
      return { counts: counted(faults, witnesses, { failedStarts, unsound }), broken };
    },
  };
}

function counted(
  faults: readonly Fault[],
  { tally }: Witnesses,
  { failedStarts, unsound }: { failedStarts: readonly string[]; unsound: readonly string[] },
): Found['counts'] {
  const {
    'acknowledged and lost': lost = 0,
    'pending and not told': untold = 0,
    'told and not there': phantom = 0,
  } = countFaults(faults);
  return {
    acknowledged: tally.acknowledged,
    'cut off before the answer': tally.unanswered.length,
    'answered 503': tally.refused,
    'acknowledged and lost': lost,
    'pending and not told': untold,
    'told and not there': phantom,
    'against another rule of the ledgers': faults.length - lost - untold - phantom,
    'found wrong in the database': unsound.length,
    'restarts that failed': failedStarts.length,
  };
}

async function anotherKey(database: string): Promise<Door['headers']> {
  const domain = 'carillon.localhost';
  const wanted = ['keys', 'create', '--database', database, '--domain', domain, '--email', `owner@${domain}`];
  const { key } = await carillonJson(wanted);
  return { domain, key };
}
