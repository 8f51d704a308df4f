import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { apiKey, Carillon, type FeedEntry } from '../../../packages/sdk/src/index.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import { type StartedProcess, startProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { abortedResult, type PartialResult, waitForAll } from '../shards.ts';
import { untilDelivered } from '../workload/database.ts';

/** Reliability test R18: what hooks of a team received equals the feed, entry by entry, after many kills. */
export const teamHooks: ReliabilityTest = {
  id: 'R18',
  name: 'team',
  title: 'X2 X11 X13 C20 users change records in several projects, while the service is killed by kill -9',
  promise: 'what hooks with several events and scopes received, without repeats, equals the feed, entry by entry',
  unit: 'kills on each database',
  quick: 3,
  isQuickOnBoth: true,
  full: 10,
  execute,
};

async function execute({ count, seed, stores, context, log }: RunParameters): Promise<RunResult> {
  const random = seededRandom(seed);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const runs = stores.map((store) => ({ store, rng: random.fork() }));
  await waitForAll(
    runs.map(async ({ store, rng }) => {
      const result = await runStore(context, store, count, rng).catch(abortedResult);
      for (const [what, number] of Object.entries(result.counts)) counts[what] = (counts[what] ?? 0) + number;
      broken.push(...result.broken.map((line) => `${store.name}: ${line}`));
      log(`${store.name}: ${result.broken.length} differences`);
    }),
  );
  return { counts, broken };
}

/** Number of successful changes before each kill. */
const MIN_CHANGES = 25;
const MAX_CHANGES = 60;

/** Minimum number of kills of a run in which every kind of change must occur. */
const MIN_KILLS_FOR_COVERAGE = 10;

/** Kinds of changes that must occur. */
const expectedKinds = [
  ...(['new_project', 'new_task', 'changed_event', 'changed_task', 'assigned_task', 'completed_task'] as const),
  ...(['completed_subtask', 'reopened_task', 'deleted_event', 'deleted_task', 'deleted_subtask'] as const),
];

async function runStore(
  context: Cleanup,
  store: TestStore,
  kills: number,
  random: SeededRandom,
): Promise<PartialResult> {
  const database = await store.database(context);
  const port = String(await findFreePort());
  const start = () => startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: port });
  let service: StartedProcess = await start();
  atEnd(context, () => service.process.kill('SIGKILL'));
  const { baseUrl, domain = '', key = '' } = service;
  const clientOf = (ownKey: string) => new Carillon({ baseUrl, auth: apiKey({ domain, key: ownKey }), retries: 0 });
  const owner = clientOf(key);
  const { user_id: memberId } = await owner.users.create({ email: `member@${domain}`, first_name: 'M' });
  const command = ['keys', 'create', '--database', database, '--domain', domain, '--email', `member@${domain}`];
  const member = clientOf((await runCarillonJson(command)).key);
  const shared = await owner.projects.create({ project_name: 'Shared' });

  const receiver = await startReceiver(context);
  const target = (path: string) => ({ target_url: receiver.url + path, events: ['*'] as const });
  await owner.hooks.create({ ...target('/account'), scope: 'account' });
  await member.hooks.create(target('/own'));
  await member.hooks.create({ ...target('/project'), scope: 'project', project_id: shared.project_id });
  const { id: pausedId } = await owner.hooks.create({ ...target('/paused'), scope: 'account' });
  const { next: first } = await owner.notifications.list({ scope: 'account', after: 'latest' });

  const team = new Team([owner, member], ['1', memberId], shared.project_id, random);
  const stop = team.start();
  for (let killed = 0; killed < kills; killed += 1) {
    await team.untilDone(MIN_CHANGES + random.integerBelow(MAX_CHANGES - MIN_CHANGES));
    if (killed % 2 === 0) await owner.hooks.update(pausedId, { enabled: killed % 4 === 0 ? 0 : 1 });
    await service.stop('SIGKILL');
    service = await start();
  }
  await team.untilDone(MIN_CHANGES);
  await stop();
  await owner.hooks.update(pausedId, { enabled: 1 });
  await untilDelivered(database);
  const feed: FeedEntry[] = [];
  for (let page = await owner.notifications.list({ scope: 'account', after: first }); page.data.length > 0; ) {
    feed.push(...page.data);
    page = await owner.notifications.list({ scope: 'account', after: page.next });
  }
  const isShared = ({ project_id, previous_project_id }: FeedEntry) =>
    [project_id, previous_project_id].includes(shared.project_id);
  const expected = {
    '/account': feed,
    '/own': feed.filter(({ user_id }) => user_id === memberId),
    '/project': feed.filter(isShared),
    '/paused': feed,
  };
  const kinds = new Set<string>(feed.map(({ kind }) => kind));
  const missed = kills < MIN_KILLS_FOR_COVERAGE ? [] : expectedKinds.filter((kind) => !kinds.has(kind));
  return {
    counts: { kills, 'entries of the feed': feed.length, notifications: receiver.count(), repeats: receiver.repeats() },
    broken: [
      ...Object.entries(expected).flatMap(([path, entries]) =>
        findDifferences(path, receiver.historyOf(path), entries),
      ),
      ...missed.map((kind) => `never happened: ${kind}`),
    ],
  };
}

/** Compares the history of a receiver with entries of the feed. */
export function findDifferences(path: string, received: readonly string[], entries: readonly FeedEntry[]): string[] {
  const expected = entries.map(
    ({ cursor, kind, resource_url, fields }) =>
      `${cursor} ${kind} ${resource_url} ${kind.startsWith('changed_') ? fields.join() : '-'}`,
  );
  const differs = expected.findIndex((line, index) => line !== received[index]);
  if (differs < 0 && received.length === expected.length) return [];
  const at = differs < 0 ? expected.length : differs;
  const lengths = `${received.length} received, ${expected.length} in the feed`;
  return [`X11 differs from the feed: ${path} received ${received[at]} in place of ${expected[at]}; ${lengths}`];
}

/** Starts a receiver that stores every notification once, by its Webhook-Id. */
async function startReceiver(context: Cleanup) {
  const stored = new Map<string, { readonly path: string; readonly cursor: number; readonly line: string }>();
  let count = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { 'webhook-id': id, 'webhook-cursor': cursor, 'webhook-event': kind, ...more } = request.headers;
    const { resource_url: url } = JSON.parse(body);
    const path = request.url ?? '';
    count += 1;
    stored.set(`${path} ${id}`, {
      path,
      cursor: Number(cursor),
      line: `${cursor} ${kind} ${url} ${more['webhook-fields'] ?? '-'}`,
    });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => void server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    repeats: () => count - stored.size,
    /** Returns what a path received, in the order of the feed. */
    historyOf: (path: string) => {
      const own = [...stored.values()].filter((one) => one.path === path);
      return own.sort((a, b) => a.cursor - b.cursor).map(({ line }) => line);
    },
  };
}

type Change = (as: Carillon) => Promise<unknown>;

/** Users who create, move, assign, complete, reopen and delete records, and do not stop when the service is killed. */
class Team {
  readonly #clients: readonly Carillon[];
  readonly #userIds: readonly string[];
  readonly #random: SeededRandom;
  readonly #projects: string[];
  readonly #events: string[] = [];
  readonly #tasks: string[] = [];
  readonly #subtasks: string[] = [];
  #isStopped = false;
  #done = 0;

  constructor(clients: readonly Carillon[], userIds: readonly string[], projectId: string, random: SeededRandom) {
    this.#clients = clients;
    this.#userIds = userIds;
    this.#projects = [projectId];
    this.#random = random;
  }

  /** Starts the users. Returns a function that stops them. */
  start(): () => Promise<void> {
    const working = this.#clients.map((client) => this.#work(client));
    return async () => {
      this.#isStopped = true;
      await Promise.all(working);
    };
  }

  /** Waits until further changes have succeeded. */
  async untilDone(more: number): Promise<void> {
    for (const goal = this.#done + more; this.#done < goal; ) await wait(2);
  }

  async #work(client: Carillon): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#random.pick(this.#changes)(client);
        this.#done += 1;
      } catch {
        // The service was killed, or another user has deleted the record. The feed shows what has happened.
        await wait(10);
      }
    }
  }

  /** Removes a random id from a list, but never the first one. */
  #take(ids: string[]): string {
    const [id] = ids.length < 2 ? [] : ids.splice(1 + this.#random.integerBelow(ids.length - 1), 1);
    if (id === undefined) throw new Error('there is none');
    return id;
  }

  #pick(ids: readonly string[]): string {
    if (ids.length === 0) throw new Error('there is none');
    return this.#random.pick(ids);
  }

  readonly #createProject: Change = async (as) =>
    void this.#projects.push((await as.projects.create({ project_name: 'Project' })).project_id);

  readonly #createTask: Change = async (as) => {
    const { task_id } = await as.tasks.create(this.#pick(this.#projects), { task_name: 'Task' });
    this.#tasks.push(task_id);
    this.#subtasks.push((await as.subtasks.create(task_id, { subtask_name: 'Subtask' })).subtask_id);
  };

  readonly #createEvent: Change = async (as) => {
    const dates = { start_date: '20270101', due_date: '20270102' };
    const project_id = this.#pick(this.#projects);
    this.#events.push((await as.events.create({ event_name: 'Event', project_id, ...dates })).event_id);
  };

  /** The changes; repeated ones are more likely. */
  readonly #changes: readonly Change[] = [
    this.#createProject,
    ...[this.#createTask, this.#createTask, this.#createTask],
    ...[this.#createEvent, this.#createEvent],
    (as) => as.events.update(this.#pick(this.#events), { project_id: this.#pick(this.#projects), event_name: 'Moved' }),
    (as) => as.tasks.update(this.#pick(this.#tasks), { project_id: this.#pick(this.#projects) }),
    (as) => as.tasks.update(this.#pick(this.#tasks), { users: [this.#random.pick(this.#userIds)] }),
    (as) => as.tasks.update(this.#pick(this.#tasks), { description: `${this.#done}` }),
    (as) => as.tasks.complete(this.#pick(this.#tasks)),
    (as) => as.tasks.update(this.#pick(this.#tasks), { resume: 1 }),
    (as) => as.subtasks.update(this.#pick(this.#subtasks), { completed: 1 }),
    (as) => as.subtasks.delete(this.#take(this.#subtasks)),
    (as) => as.events.delete(this.#take(this.#events)),
    (as) => as.tasks.delete(this.#take(this.#tasks)),
    (as) => as.projects.delete(this.#take(this.#projects)),
  ];
}
