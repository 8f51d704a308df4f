import { setImmediate as waitTick } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { AttemptOutcome } from '../../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget, type Target } from '../../kit/network/target.ts';
import { countLogLines, userAtNode } from '../../kit/service/nodes.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { type AttemptTrace, createTracedAttempt } from '../../kit/service/traced-attempts.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';

/** Reliability test R6: hooks end during a delivery, on one of two nodes, and receive nothing afterwards. */
export const hookDeletion: ReliabilityTest = {
  id: 'R6',
  name: 'deletion',
  title: 'during deliveries, hooks are deleted, or their targets respond 401',
  promise: 'no attempt for a hook begins after its 401, or after its DELETE has returned 200',
  unit: 'races',
  quick: 120,
  full: 10_000,
  execute,
};

/** Number of concurrent races. */
const CONCURRENCY = 24;

/** Number of hooks of each user that is deleted. */
const HOOKS_PER_USER = 3;

/** Name of a counter that must not stay 0: without deliveries in flight the races show nothing. */
const IN_FLIGHT_COUNTER = 'in flight when the hook ended';

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

/** The end of some hooks: their paths, and the time from which on no attempt may start. */
type HookEnd = { readonly paths: readonly string[]; readonly at: number };

/** A database, the number of nodes on it, and the share of the races that run there. */
type RaceSetup = {
  readonly store: TestStore;
  readonly nodes: 1 | 2;
  readonly listen: 'on' | 'off';
  readonly share: number;
};

/**
 * Returns the setups for these databases. Without LISTEN a node learns of an end only with its next heartbeat, so
 * each round takes that long.
 */
const setupsFor = (stores: readonly TestStore[]): readonly RaceSetup[] =>
  stores.flatMap((store): RaceSetup[] =>
    store.name === 'SQLite'
      ? [{ store, nodes: 1, listen: 'on', share: 3 }]
      : [
          { store, nodes: 1, listen: 'on', share: 2 },
          { store, nodes: 2, listen: 'on', share: 4 },
          { store, nodes: 2, listen: 'off', share: 1 },
        ],
  );

async function execute({ count, seed, stores, context, log }: RunParameters): Promise<RunResult> {
  const random = seededRandom(seed);
  const setups = setupsFor(stores);
  const shares = setups.reduce((sum, { share }) => sum + share, 0);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  for (const arena of setups) {
    const races = Math.ceil((count * arena.share) / shares);
    const where = `${arena.store.name}, ${arena.nodes} node${arena.nodes > 1 ? `s, LISTEN ${arena.listen}` : ''}`;
    const result = await runRaces(context, arena, races, random.fork());
    broken.push(...result.broken.map((line) => `${where}: ${line}`));
    for (const [what, counted] of Object.entries(result.counts)) {
      counts[what] = (counts[what] ?? 0) + Number(counted);
    }
    log(`${where}: ${races} races`);
  }
  if (!counts[IN_FLIGHT_COUNTER]) broken.push('nothing was in flight when a hook ended, so the run proves nothing');
  return { counts, broken };
}

/** Records when attempts start and when a 401 becomes known; paths in `unauthorized` answer 401. */
function traceAttempts(): {
  attempt: SendAttempt;
  traceOf(path: string): AttemptTrace;
  unauthorized: Set<string>;
  refusedAt: Map<string, number>;
} {
  const { attempt, traceOf } = createTracedAttempt();
  const refusedAt = new Map<string, number>();
  return {
    traceOf,
    unauthorized: new Set(),
    refusedAt,
    async attempt(order) {
      const outcome: AttemptOutcome = await attempt(order);
      const path = new URL(order.target).pathname;
      // The dispatcher handles the result in the next event-loop iteration.
      if (outcome.kind === 'answered' && outcome.status === 401) {
        setImmediate(() =>
          refusedAt.set(path, Math.min(refusedAt.get(path) ?? Number.POSITIVE_INFINITY, performance.now())),
        );
      }
      return outcome;
    },
  };
}

async function runRaces(context: Cleanup, arena: RaceSetup, races: number, random: SeededRandom): Promise<RunResult> {
  const database = await arena.store.database(context);
  const address = arena.store.name === 'SQLite' ? database : `${database}?listen=${arena.listen}`;
  const tracer = traceAttempts();
  const start = () => arena.store.testService(context, { database: address, deps: { sendAttempt: tracer.attempt } });
  const nodes = [await start()];
  if (arena.nodes === 2) nodes.push(await start());
  const [one = await start(), other = one] = nodes;
  const owner = await one.createAccount('acme.test');
  const target = await startTarget(context);
  target.setReplies((response, { path }) => void response.writeHead(tracer.unauthorized.has(path) ? 401 : 200).end());

  let created = 0;
  let writing = true;
  const callers = [owner, userAtNode(other, owner)];
  const writers = callers.map(async ({ carillon }) => {
    while (writing) {
      await carillon.events.create(event);
      created += 1;
    }
  });
  const field: RaceContext = { one, other, owner, target, tracer, random };
  const ended: HookEnd[] = [];
  for (let left = races; left > 0; left -= CONCURRENCY) {
    const round = Array.from({ length: Math.min(left, CONCURRENCY) }, (_, index) => runRace(field, `${left}-${index}`));
    ended.push(...(await Promise.all(round)));
  }
  writing = false;
  await Promise.all(writers);
  // One more event is created, so that a node that still could start an attempt for an ended hook does so now.
  await callers[0]?.carillon.events.create(event);
  await Promise.all(nodes.map((node) => node.stop()));
  const { broken, inFlight } = checkRaces(ended, tracer.traceOf, target);
  const evicted = nodes.filter((node) => countLogLines(node, 'node.evicted') > 0);
  return {
    counts: {
      races: ended.length,
      'events during the races': created,
      notifications: target.received.length,
      [IN_FLIGHT_COUNTER]: inFlight,
    },
    broken: [...broken, ...evicted.map(() => 'a live node was evicted')],
  };
}

type RaceContext = {
  readonly one: TestService;
  readonly other: TestService;
  readonly owner: ApiUser;
  readonly target: Target;
  readonly tracer: ReturnType<typeof traceAttempts>;
  readonly random: SeededRandom;
};

/**
 * Runs one race: creates hooks, delivers to them, and ends them at a random time. Returns their paths, and the
 * time at which they had ended.
 */
async function runRace(field: RaceContext, name: string): Promise<HookEnd> {
  const { one, other, owner, tracer, random } = field;
  const drawn = random.integerBelow(8);
  const turns = random.integerBelow(8);
  // The hook is usually created on one node and ended on the other.
  const [maker, remover] = random.integerBelow(4) === 0 ? [other, one] : [one, other];
  if (drawn === 0) return endUser(field, name, turns);
  const path = `/${name}`;
  const { carillon } = userAtNode(maker, owner);
  const { id } = await carillon.hooks.create({ target_url: field.target.urlOf(path), event: 'new_event' });
  // Some races begin while the hook queue is being leased for the first time.
  if (random.integerBelow(2) === 0 || drawn === 1) await waitForAttempt(field, path);
  for (let turned = 0; turned < turns; turned += 1) await waitTick();
  if (drawn === 1) {
    tracer.unauthorized.add(path);
    await eventually(
      () => tracer.refusedAt.get(path) ?? 0,
      (at) => at > 0,
      20_000,
    );
    return { paths: [path], at: tracer.refusedAt.get(path) ?? 0 };
  }
  await userAtNode(remover, owner).carillon.hooks.delete(id);
  return { paths: [path], at: performance.now() };
}

/** Ends the hooks of a user by deleting the user, also during deliveries (C23). */
async function endUser(field: RaceContext, name: string, turns: number): Promise<HookEnd> {
  const { one, other, owner, target } = field;
  const user = await one.createUser(owner, 'member');
  const paths = Array.from({ length: HOOKS_PER_USER }, (_, index) => `/${name}-${index}`);
  for (const path of paths) await user.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' });
  await Promise.all(Array.from({ length: HOOKS_PER_USER }, () => user.carillon.events.create(event)));
  for (let turned = 0; turned < turns; turned += 1) await waitTick();
  await userAtNode(other, owner).carillon.users.delete(user.userId);
  return { paths, at: performance.now() };
}

function waitForAttempt({ tracer }: RaceContext, path: string): Promise<unknown> {
  return eventually(
    () => tracer.traceOf(path).begun.length,
    (count) => count > 0,
  );
}

/**
 * Checks from both sides that nothing is sent after the end of a hook (C13). Sender: no attempt starts after the
 * 200 of the DELETE arrived; both times come from one clock in one process. Receiver: arrivals after that time are
 * at most the connections that were open before it and had not arrived yet.
 */
export function checkRaces(
  ended: readonly HookEnd[],
  traceOf: (path: string) => AttemptTrace,
  { received }: { readonly received: readonly Pick<Target['received'][number], 'path' | 'at'>[] },
): { broken: string[]; inFlight: number } {
  const arrivals = Map.groupBy(received, (one) => one.path);
  const broken: string[] = [];
  let inFlight = 0;
  for (const { paths, at } of ended) {
    for (const path of paths) {
      const { begun, dialled } = traceOf(path);
      const late = begun.filter((moment) => moment > at).length;
      if (late > 0) broken.push(`${path}: ${late} attempts started after the end`);
      const own = arrivals.get(path) ?? [];
      const after = own.filter((one) => one.at > at).length;
      const connected = dialled.filter((moment) => moment <= at).length - (own.length - after);
      if (after > connected) broken.push(`${path}: ${after} arrived after the end, and ${connected} were in flight`);
      inFlight += after;
    }
  }
  return { broken, inFlight };
}
