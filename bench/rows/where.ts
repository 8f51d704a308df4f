import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeAccounts } from '../accounts.ts';
import type { Bench, Run, Series } from '../bench.ts';
import { calledService, hotCalls } from '../hot-path.ts';
import { busy } from '../load/busy.ts';
import { createEvent, subscribe } from '../load/calls.ts';
import { ask, wired } from '../load/connection.ts';
import { atRate } from '../load/open-loop.ts';
import { moment } from '../measured.ts';
import { processorSeconds, processorSecondsBelow } from '../processor.ts';
import { busyIn, type Profile, readProfiles, type Stretch } from '../profile.ts';
import type { Receiver } from '../receiver.ts';
import { inRounds, seriesOf } from '../rounds.ts';
import { type Database, databases } from '../stage.ts';
import { type Crowd, crowded, startTellers } from '../tellers.ts';
import { nameOf as crowdOf, crowds } from './deliver.ts';
import { EACH_ITS_OWN, WARM_MS_A_PROCESS } from './processes.ts';

/** How often is looked what is at work, microseconds: often enough, and hardly a part of the work itself. */
const LOOK_EVERY_US = 1_000;

/** What a service takes in all, and what the processes of its database take beside that. */
const SERVICE = 'in all';
const BESIDE = 'and the processes of PostgreSQL';

/** What is created each second where a service has hardly anything to do; and until its code is compiled. */
const CALM = 50;
const BUSY = 500;

/** What a service does while it is looked at. */
type Work = {
  readonly name: string;
  /** More processes than have a processor each: what they wait for one is no work of theirs. */
  readonly pids?: readonly (number | undefined)[];
  /** Where all that work leave their profiles. */
  readonly folder: string;
  /** Until its code is compiled and its caches are filled. */
  warm(): Promise<unknown>;
  /** Goes on for a round, and answers how many pieces of work that was. */
  run(): Promise<number>;
  stop(): Promise<unknown>;
};

/** By whom the work is begun and heard, and with what a service is started so that it is looked at. */
type Setting = { readonly run: Run; readonly database: Database; readonly receiver: Receiver };

function lookedAt({ run, database }: Setting, name: string) {
  const folder = join(run.stage.folder, `${name} on ${database}`.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  return {
    folder,
    options: { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${LOOK_EVERY_US}` },
  };
}

/** Calls as fast as they are answered, over many connections, of one service. */
async function called(setting: Setting): Promise<Work[]> {
  const { run, database } = setting;
  const { folder, options } = lookedAt(setting, 'called');
  const service = await calledService(run.stage, database, { options });
  return hotCalls.map((call) => {
    const contender = busy(call, service, service.calls[call], run.roundMs);
    return {
      name: `${call} on ${database}`,
      folder,
      warm: contender.measure,
      run: async () => ((await contender.measure())['/s'] ?? Number.NaN) * (run.roundMs / 1_000),
      stop: service.stop,
    };
  });
}

/** Events created and told as fast as they are told, by one process or several. */
async function told(setting: Setting, name: string, crowd: Crowd, processes = 1): Promise<Work> {
  const { run, database, receiver } = setting;
  const { folder, options } = lookedAt(setting, name);
  const where = await crowded(run.stage, receiver, database, crowd);
  const { pids, tell, stop } = await startTellers(run.stage, where, { processes, options });
  return {
    name,
    folder,
    warm: () => tell(WARM_MS_A_PROCESS * processes),
    run: async () => (await tell(run.roundMs)).told,
    ...(processes > 1 && { pids }),
    stop,
  };
}

/** Events created now and then, each told to one hook. */
async function calm(setting: Setting): Promise<Work> {
  const { run, database, receiver } = setting;
  const name = `created and told at ${CALM}/s on ${database}`;
  const { folder, options } = lookedAt(setting, name);
  const address = await run.stage.newDatabase(database);
  const [account] = await makeAccounts(address, 1);
  if (account === undefined) throw new Error('there is an account');
  const { baseUrl, stop } = await run.stage.service(address, options);
  await ask(baseUrl, subscribe(account, `${receiver.url}/count/calm`));
  const call = wired(baseUrl, createEvent(account));
  const create = (perSecond: number, forMs: number) => atRate(baseUrl, () => call, { perSecond, forMs });
  return {
    name,
    folder,
    warm: () => create(BUSY, WARM_MS_A_PROCESS),
    run: async () => (await create(CALM, run.roundMs)).length,
    stop: () => stop('SIGTERM'),
  };
}

async function worksOn(setting: Setting): Promise<Work[]> {
  const { database } = setting;
  const works = [...(await called(setting)), await calm(setting)];
  for (const crowd of crowds) works.push(await told(setting, `told, ${crowdOf(crowd.hooksEach, database)}`, crowd));
  if (database === 'PostgreSQL') {
    for (const processes of [1, 4])
      works.push(
        await told(
          setting,
          `told by ${processes === 1 ? 'one process' : `${processes} processes`} on ${database}`,
          EACH_ITS_OWN,
          processes,
        ),
      );
  }
  return works;
}

/**
 * When a round of it was, how many pieces of work that were, and what each took of the processors, microseconds: of the
 * database, where it has processes of its own, and of the services, where they have to wait for each other.
 */
type Seen = Stretch & { readonly pieces: number; readonly database: number; readonly services: number };

export const where: Bench = {
  id: 'W',
  name: 'where',
  title:
    'where the microseconds go, by profiles of the one thread of a service: calls as fast as they are answered over 64 connections, notifications as fast as they are told (P5, P11), and both where there is hardly anything to do (P6)',
  target: 'nothing: it says what to do next',
  async measure(run) {
    const receiver = await run.stage.receiver();
    const works: Work[] = [];
    for (const database of databases) works.push(...(await worksOn({ run, database, receiver })));
    const seen = new Map<string, Seen[]>(works.map(({ name }) => [name, []]));
    const contenders = works.map((work) => ({
      name: work.name,
      async measure() {
        const [from, database, services] = [moment(), ofDatabase(run, work), ofServices(work)];
        const pieces = await work.run();
        seen.get(work.name)?.push({
          from,
          until: moment(),
          pieces,
          database: ((ofDatabase(run, work) - database) * 1e6) / pieces,
          services: ((ofServices(work) - services) * 1e6) / pieces,
        });
        return { pieces };
      },
    }));
    for (const { warm } of works) await warm();
    await inRounds(contenders, run.rounds, run.say);
    for (const stop of new Set(works.map(({ stop }) => stop))) await stop();
    const profiles = new Map([...new Set(works.map(({ folder }) => folder))].map((one) => [one, readProfiles(one)]));
    const series = works.flatMap(({ name, folder }) =>
      seriesFrom(`µs of ${name}`, seen.get(name) ?? [], profiles.get(folder) ?? []),
    );
    return { series, claims: [] };
  },
};

/** What each area took of a piece of work, what that is in all, and what the database took beside. */
function seriesFrom(unit: string, seen: readonly Seen[], profiles: readonly Profile[]): Series[] {
  if (profiles.length === 0) throw new Error(`there is no profile of ${unit}`);
  const busy = seen.map((stretch) => {
    const each = new Map<string, number>();
    for (const profile of profiles) {
      for (const [area, micros] of busyIn(profile, stretch))
        each.set(area, (each.get(area) ?? 0) + micros / stretch.pieces);
    }
    const sum = [...each.values()].reduce((all, micros) => all + micros, 0);
    const worked = Number.isFinite(stretch.services) ? stretch.services / sum : 1;
    return new Map([...each].map(([area, micros]) => [area, micros * worked] as const));
  });
  const one = (area: string, rounds: readonly number[]): Series => ({
    name: seriesOf(area, unit),
    side: 'ours',
    unit,
    rounds,
  });
  const areas = new Set(busy.flatMap((each) => [...each.keys()]));
  const all = busy.map((each) => [...each.values()].reduce((sum, micros) => sum + micros, 0));
  const beside = seen.map(({ database }) => database).filter(Number.isFinite);
  return [
    one(SERVICE, all),
    ...(beside.length === 0 ? [] : [one(BESIDE, beside)]),
    ...[...areas].map((area) =>
      one(
        area,
        busy.map((each) => each.get(area) ?? 0),
      ),
    ),
  ];
}

/** Seconds of processor that services have used so far; not a number where each has one for itself. */
function ofServices({ pids }: Work): number {
  return pids === undefined ? Number.NaN : pids.reduce<number>((sum, pid) => sum + processorSeconds(pid), 0);
}

/** Seconds of processor that the processes of a database have used so far; not a number where it has none. */
function ofDatabase({ stage }: Run, { name }: Work): number {
  return stage.postgresPid !== undefined && name.endsWith('on PostgreSQL')
    ? processorSecondsBelow(stage.postgresPid)
    : Number.NaN;
}
