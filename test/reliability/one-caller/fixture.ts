import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { startTarget, type Target } from '../../kit/network/target.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { Attacker, LargeTask } from './attacks.ts';
import { rawRequest } from './sockets.ts';

/** Number of comment threads in the largest list. With all replies, each account has some 30 million characters. */
const THREADS = 25;
/** Number of replies in each thread. */
const REPLIES = 60;
/** Length of each comment in characters, which is the maximum. */
const COMMENT_LENGTH = 20_000;

/** Number of comments of the task that an attacker moves. Each move changes all of them. */
const COMMENTS_PER_TASK = 2_000;

/** Number of events in the calendar that an attacker reads. With names of maximum length they take some 2 MB. */
const CALENDAR_EVENTS = 3_000;

/** Number of events in the month that the honest callers list. */
const EVENTS_PER_MONTH = 100;

const FILL_CONCURRENCY = 32;

type Headers = Readonly<Record<string, string>>;

/** A service with an honest account, a neighbor, and the credentials of all attackers. */
export type AttackFixture = {
  readonly service: ServiceProcess;
  /** Raw requests of the honest account and of the neighbor. */
  readonly honest: readonly string[];
  readonly attackers: Readonly<Record<Attacker, Headers>>;
  /** Path of the calendar URL. */
  readonly calendar: string;
  /** The task that each attacker moves. Attackers without a key move none. */
  readonly tasks: Readonly<Partial<Record<Attacker, LargeTask>>>;
  /** Receives a notification for each event that the honest account creates. */
  readonly target: Target;
};

export async function setUp(store: TestStore, context: Cleanup): Promise<AttackFixture> {
  const service = await store.serviceProcess(context);
  const owner = { carillon: service.carillon, headers: service.headers };
  const member = await createMember(service);
  const neighbour = await createAccountOn(service, 'neighbour.test');
  const other = await createAccountOn(service, 'other.test');
  const target = await startTarget(context);
  for (const { carillon } of [owner, other]) await fillComments(carillon);
  const [taskOfMember, taskOfOther] = [await fillTask(owner.carillon), await fillTask(other.carillon)];
  const { url } = await owner.carillon.calendars.create({ scope: 'account' });
  await fillEvents(owner.carillon, CALENDAR_EVENTS, '20280101', 'x'.repeat(255));
  const honest: string[] = [];
  for (const { carillon, headers } of [owner, neighbour]) {
    await fillEvents(carillon, EVENTS_PER_MONTH, '20260610', 'Of June');
    const { event_id } = await carillon.events.create({
      event_name: 'One',
      start_date: '20260611',
      due_date: '20260611',
    });
    honest.push(...createHonestCalls(headers, event_id));
  }
  await owner.carillon.hooks.create({ target_url: target.urlOf('/of-the-honest-account'), event: 'new_event' });
  await neighbour.carillon.hooks.create({ target_url: target.urlOf('/of-the-neighbour'), event: 'new_event' });
  return {
    service,
    honest,
    attackers: { 'no key': {}, 'a calendar URL': {}, 'a member': member, 'another account': other.headers },
    calendar: new URL(url).pathname,
    tasks: { 'a member': taskOfMember, 'another account': taskOfOther },
    target,
  };
}

/** Returns two calls on kept-alive connections, and two calls that each open a connection of their own. */
function createHonestCalls(headers: Headers, eventId: string): readonly string[] {
  const body = JSON.stringify({ event_name: 'Tick', start_date: '20270101', due_date: '20270101' });
  const closing = { ...headers, connection: 'close' };
  return [
    rawRequest('POST', '/v2/events', { ...headers, 'content-type': 'application/json' }, body),
    rawRequest('GET', '/v2/events?start_from=20260601&start_to=20260630', headers),
    rawRequest('GET', `/v2/events/${eventId}`, closing),
    rawRequest('GET', '/v2/user', closing),
  ];
}

async function createAccountOn({ baseUrl, database }: ServiceProcess, domain: string) {
  const words = ['accounts', 'create', '--domain', domain, '--email', `owner@${domain}`, '--database', database];
  const { key } = await runCarillonJson(words);
  return { carillon: new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 }), headers: { domain, key } };
}

async function createMember({ database, headers }: ServiceProcess): Promise<Headers> {
  const { domain = '' } = headers;
  const who = ['--domain', domain, '--email', 'member@honest.test', '--database', database];
  await runCarillonJson(['users', 'create', ...who, '--role', 'member']);
  const { key } = await runCarillonJson(['keys', 'create', ...who]);
  return { domain, key };
}

async function fillComments(carillon: Carillon): Promise<void> {
  const { project_id } = await carillon.projects.create({ project_name: 'Long threads' });
  const comment = 'é'.repeat(COMMENT_LENGTH);
  const threads: string[] = [];
  await runConcurrently(THREADS, async () => {
    threads.push((await carillon.comments.create(project_id, { comment })).comment_id);
  });
  await runConcurrently(THREADS * REPLIES, async (number) => {
    const parent_id = threads[number % THREADS] ?? '';
    await carillon.comments.create(project_id, { comment, parent_id });
  });
}

async function fillTask(carillon: Carillon): Promise<LargeTask> {
  const [one, two] = [
    await carillon.projects.create({ project_name: 'One' }),
    await carillon.projects.create({ project_name: 'Two' }),
  ];
  const { task_id } = await carillon.tasks.create(one.project_id, { task_name: 'Moved' });
  await runConcurrently(COMMENTS_PER_TASK, async () => {
    await carillon.comments.create(one.project_id, { comment: 'Short', task_id });
  });
  return { path: `/v2/tasks/${task_id}`, projects: [two.project_id, one.project_id] };
}

async function fillEvents(carillon: Carillon, count: number, day: string, event_name: string): Promise<void> {
  await runConcurrently(count, async () => {
    await carillon.events.create({ event_name, start_date: day, due_date: day });
  });
}

async function runConcurrently(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const repeat = async () => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: FILL_CONCURRENCY }, repeat));
}
