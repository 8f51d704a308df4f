import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReleaseSchedule } from '../../demo/release-calendar.ts';
import { apiKey, Carillon, type HookKind, type Permission, type Role } from '../../packages/sdk/src/index.ts';
import type { AttemptOutcome } from '../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../src/delivery/transport/attempt.ts';
import type { Cleanup } from '../kit/cleanup.ts';
import { createTestClock, fixedJitterRandom, type TestClock } from '../kit/clock.ts';
import { eventually } from '../kit/eventually.ts';
import { type ApiUser, createTemporaryFolder, startTestService, type TestService } from '../kit/service/service.ts';

/** Current time of the example: a Friday morning. */
export const NOW = Date.UTC(2026, 10, 20, 10, 42);

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export type Example = {
  readonly service: TestService;
  readonly owner: ApiUser;
  readonly member: ApiUser;
};

/** Simulated targets by host: the outcome and the average duration of an attempt. No request is sent. */
const SIMULATED_TARGETS: Readonly<
  Record<string, { readonly ms: number; outcome(now: number): number | 'refused' | 'timeout' }>
> = {
  'erp.acme.example': { ms: 34, outcome: () => 200 },
  'chat.acme.example': { ms: 112, outcome: () => 200 },
  'reports.acme.example': { ms: 61, outcome: (now) => (now > NOW - 61_000 ? 503 : 200) },
  'mirror.acme.example': { ms: 480, outcome: (now) => (now > NOW - 30 * 60_000 ? 'timeout' : 200) },
  'old-crm.acme.example': { ms: 3, outcome: (now) => (now > NOW - 9 * HOUR_MS ? 'refused' : 200) },
  'partner.example': { ms: 88, outcome: (now) => (now > NOW - 4 * HOUR_MS ? 401 : 200) },
};

/** Simulates attempts to `SIMULATED_TARGETS`, with deterministic durations. */
function simulatedAttempts(clock: TestClock): SendAttempt {
  let seed = 27;
  const nextSpread = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return 0.6 + (1.3 * seed) / 2_147_483_647;
  };
  return async ({ target }): Promise<AttemptOutcome> => {
    const row = SIMULATED_TARGETS[new URL(target).hostname];
    const outcome = row?.outcome(clock.now()) ?? 200;
    const ms = outcome === 'timeout' ? 15_000 : Math.round((row?.ms ?? 40) * nextSpread());
    return typeof outcome === 'number'
      ? { kind: 'answered', status: outcome, durationMs: ms }
      : { kind: 'failed', cause: outcome, durationMs: ms };
  };
}

/** Starts a service with an account that has been in use for a month; every run yields the same data. */
export async function startExample(t: Cleanup, { port = '0' }: { readonly port?: string } = {}): Promise<Example> {
  const clock = createTestClock(NOW - 30 * DAY_MS);
  const service = await startTestService(t, `sqlite:${join(createTemporaryFolder(t), 'carillon.db')}`, {
    options: { retryWaits: '1m,2h', attemptTimeout: '15s', port },
    deps: {
      clock,
      random: fixedJitterRandom(0.3),
      sendAttempt: simulatedAttempts(clock),
      resolve: async () => ({ addresses: ['9.9.9.9'] }),
    },
  });
  const owner = await service.createAccount('acme.example');
  await owner.carillon.users.update(owner.userId, {
    first_name: 'Release',
    last_name: 'Team',
    email: 'release@acme.example',
  });
  const people = await addPeople(service, owner);
  const { user_id: invited } = await owner.carillon.users.create({
    email: 'docs@acme.example',
    first_name: 'Docs',
    last_name: 'Team',
  });
  const programs = await issueKeys(service, owner);
  const [member = owner] = people;
  await skip(clock, 6 * DAY_MS);
  const lines = await createSchedule(owner.carillon, [owner, ...people]);
  await createMonthRecords(owner, people, lines);
  await skip(clock, 23 * DAY_MS);
  await createHooks(owner, member);
  await simulateDay({ service, owner, member, programs, lines, clock });
  const { console } = await service.signIn(owner);
  await console.invitations.create({ user_id: invited });
  return { service, owner, member };
}

const MEMBERS: readonly (readonly [first: string, last: string, role: Role])[] = [
  ['Build', 'Team', 'member'],
  ['Core', 'Team', 'admin'],
  ['Website', 'Team', 'member'],
];

/** Creates users, each with a key. */
async function addPeople({ baseUrl }: TestService, owner: ApiUser): Promise<readonly ApiUser[]> {
  const added: ApiUser[] = [];
  for (const [first_name, last_name, role] of MEMBERS) {
    const email = `${first_name.toLowerCase()}@acme.example`;
    const { user_id } = await owner.carillon.users.create({ email, first_name, last_name, role });
    const { key } = await owner.carillon.keys.create({ user_id, label: `${first_name} scripts`, expires: '365d' });
    const { domain } = owner;
    const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }) });
    added.push({ carillon, domain, key, userId: user_id, headers: { domain, key } });
  }
  return added;
}

const KEY_DEFINITIONS: readonly {
  readonly label: string;
  readonly permissions: readonly Permission[];
  readonly expires: string;
}[] = [
  { label: 'Release bot', permissions: ['events:read', 'events:write', 'projects:read'], expires: '120d' },
  { label: 'ERP import', permissions: ['clients:write', 'clients:read', 'projects:read', 'tasks:read'], expires: '' },
  { label: 'Wall display', permissions: ['events:read', 'projects:read', 'tasks:read'], expires: '34d' },
  { label: 'Contractor, October', permissions: ['tasks:read', 'tasks:write'], expires: '14d' },
  { label: 'Leaked in a log', permissions: ['events:read'], expires: '' },
];

/** Issues keys in every state; returns a client for each. */
async function issueKeys({ baseUrl }: TestService, owner: ApiUser): Promise<readonly Carillon[]> {
  const apiClients: Carillon[] = [];
  for (const { label, permissions, expires } of KEY_DEFINITIONS) {
    const { id, key } = await owner.carillon.keys.create({ label, permissions, expires });
    apiClients.push(new Carillon({ baseUrl, auth: apiKey({ domain: owner.domain, key }) }));
    if (label.startsWith('Leaked')) await owner.carillon.keys.revoke(id);
  }
  return apiClients;
}

const COLORS = ['#3b7a57', '#4338ca', '#b7791f', '#be3455', '#0e7490', '#7c3aed'];
const PHASE_NAMES: Readonly<Record<string, string>> = {
  alpha: 'first alpha',
  start: 'release',
  lts: 'LTS begins',
  maintenance: 'maintenance begins',
  end: 'end of life',
};

const schedule: ReleaseSchedule = JSON.parse(
  readFileSync(new URL('../../demo/node-release-schedule.json', import.meta.url), 'utf8'),
);

const CONTACTS = [
  ['Press office', 'Announcements', 'press@openjsf.example'],
  ['Build desk', 'Machines', 'build@openjsf.example'],
] as const;

type ReleaseLine = { readonly projectId: string; readonly taskIds: readonly string[] };

const toApiDay = (date: string) => date.replaceAll('-', '');

/** Creates a project with events and tasks for each current and upcoming release line of Node.js. */
async function createSchedule(carillon: Carillon, people: readonly ApiUser[]): Promise<readonly ReleaseLine[]> {
  const client = await carillon.clients.create({
    client_name: 'OpenJS Foundation',
    email: 'operations@openjsf.example',
    website: 'https://openjsf.org',
    city: 'San Francisco',
    country: 'United States',
  });
  await carillon.clients.create({
    client_name: 'Nordlys Hosting',
    email: 'hei@nordlys.example',
    city: 'Bergen',
    country: 'Norway',
  });
  await carillon.clients.create({
    client_name: 'Bellfounders’ Guild',
    tel: '+44 20 7946 0123',
    city: 'London',
    country: 'United Kingdom',
    active: 2,
  });
  const { client_id } = client;
  for (const [contact_name, role, email] of CONTACTS) {
    await carillon.contacts.create({ contact_name, role, email, client_id });
  }
  await carillon.contacts.create({
    contact_name: 'Night desk',
    tel: '+47 55 00 00 00',
    company_name: 'Nordlys Hosting',
  });
  const lines: ReleaseLine[] = [];
  for (const [index, [name, days]] of Object.entries(schedule).slice(-6).entries()) {
    const dates = Object.entries(days).filter(([phase]) => phase in PHASE_NAMES);
    const sorted = dates.map(([, date]) => toApiDay(date)).sort();
    const { project_id } = await carillon.projects.create({
      project_name: `Node ${name.slice(1)}${(days.codename ?? '') === '' ? '' : ` ${days.codename}`}`,
      client_id: client.client_id,
      color: COLORS[index] ?? '',
      tags: 'nodejs,release',
      start_date: sorted[0] ?? '',
      due_date: sorted.at(-1) ?? '',
      progress: Math.max(0, 90 - 18 * index),
      users: people.slice(index % 3, (index % 3) + 2).map(({ userId }) => userId),
    });
    const taskIds: string[] = [];
    for (const [phase, date] of dates) {
      const event_name = `Node ${name.slice(1)}: ${PHASE_NAMES[phase]}`;
      await carillon.events.create({ event_name, start_date: toApiDay(date), due_date: toApiDay(date), project_id });
      const { task_id } = await carillon.tasks.create(project_id, {
        task_name: `Prepare: ${event_name}`,
        due_date: toApiDay(date),
        important: phase === 'end' ? 1 : 0,
        users: [people[(index + taskIds.length) % people.length]?.userId ?? ''],
      });
      for (const subtask_name of ['Write the announcement', 'Update the website', 'Tell the package maintainers']) {
        await carillon.subtasks.create(task_id, { subtask_name, due_date: toApiDay(date) });
      }
      if (toApiDay(date) < '20261015') await carillon.tasks.complete(task_id);
      taskIds.push(task_id);
    }
    lines.push({ projectId: project_id, taskIds });
  }
  return lines;
}

/** Events of the current month; `line` is the index of the release line. */
const MONTH_EVENTS: readonly (readonly [name: string, start: string, due: string, line?: number])[] = [
  ['Security release', '20261103', '20261103', 2],
  ['Release v26.4.0', '20261105', '20261105', 4],
  ['Collaborator summit', '20261109', '20261111'],
  ['Code freeze v26.5', '20261116', '20261119', 4],
  ['Triage', '2026-11-20 14:00:00', '2026-11-20 15:30:00', 4],
  ['Release v26.5.0', '20261120', '20261120', 4],
  ['Release v24 maintenance', '20261118', '20261118', 2],
  ['Build farm moves', '20261123', '20261126'],
  ['Technical steering', '2026-11-25 16:00:00', '2026-11-25 17:00:00'],
  ['v27 alpha', '20261124', '20261127', 5],
  ['Release v27 dry run', '20261201', '20261203', 5],
];

const MONTH_TASKS: readonly (readonly [name: string, due: string, line: number])[] = [
  ['Write the changelog of v26.5', '20261119', 4],
  ['Backport the OpenSSL fix', '20261123', 2],
  ['Retire the v25 images', '20261117', 3],
  ['Plan the end of v22', '20261127', 0],
];

async function createMonthRecords(
  { carillon, userId }: ApiUser,
  people: readonly ApiUser[],
  lines: readonly ReleaseLine[],
) {
  const [first, ...others] = [userId, ...people.map((one) => one.userId)];
  const { team_id } = await carillon.teams.create({ team_name: 'Reviewers', color: '#4338ca', users: others });
  await carillon.teams.create({ team_name: 'On call', color: '#16a34a', users: [first ?? '', others[0] ?? ''] });
  for (const [event_name, start_date, due_date, line] of MONTH_EVENTS) {
    const project_id = line === undefined ? '0' : (lines[line]?.projectId ?? '0');
    await carillon.events.create({ event_name, start_date, due_date, project_id });
  }
  const taskIds: string[] = [];
  for (const [task_name, due_date, line] of MONTH_TASKS) {
    const project_id = lines[line]?.projectId ?? '';
    const { task_id } = await carillon.tasks.create(project_id, { task_name, due_date, teams: [team_id] });
    taskIds.push(task_id);
    const { comment_id } = await carillon.comments.create(project_id, { comment: 'Who reads it over?', task_id });
    await carillon.comments.create(project_id, { comment: 'I do, on Thursday.', parent_id: comment_id });
  }
  for (const [task, date, minutes, description] of TIME_ENTRIES)
    await carillon.timeEntries.create(taskIds[task] ?? '', { seconds: minutes * 60, date, description });
}

/** Time entries of the current week; `task` is an index into MONTH_TASKS. */
const TIME_ENTRIES: readonly (readonly [task: number, date: string, minutes: number, description: string])[] = [
  [2, '20261116', 95, 'Images listed'],
  [2, '20261117', 210, 'Images retired'],
  [0, '20261117', 60, ''],
  [0, '20261118', 185, 'First draft'],
  [1, '20261118', 120, 'Patch applied'],
  [0, '20261119', 75, 'Links, names'],
  [1, '20261119', 240, 'Tests on all platforms'],
  [1, '20261120', 45, 'Review'],
];

const HOOK_DEFINITIONS: readonly (readonly [host: string, kind: HookKind])[] = [
  ['erp.acme.example', 'new_event'],
  ['erp.acme.example', 'completed_task'],
  ['chat.acme.example', 'new_event'],
  ['chat.acme.example', 'new_task'],
  ['reports.acme.example', 'new_event'],
  ['mirror.acme.example', 'new_event'],
  ['old-crm.acme.example', 'new_event'],
  ['partner.example', 'new_event'],
];

/** Creates hooks, some of which will fail or end. */
async function createHooks(owner: ApiUser, member: ApiUser): Promise<void> {
  for (const [index, [host, event]] of HOOK_DEFINITIONS.entries()) {
    await owner.carillon.hooks.create({ target_url: `https://${host}/bell/${event}/${PATH_SECRETS[index]}`, event });
  }
  await member.carillon.hooks.create({
    target_url: `https://chat.acme.example/priya/${PATH_SECRETS.at(-1)}`,
    event: 'new_task',
  });
}

/** Secret parts of the target paths. */
const PATH_SECRETS = ['k7Qd2', 'xP04e', 'Zr81n', 'mB6yT', 'h3LwA', 'v9CsE', 'tU5gI', 'qN2oJ', 'f8KxR'];

type SimulatedDay = {
  readonly service: TestService;
  readonly owner: ApiUser;
  readonly member: ApiUser;
  readonly programs: readonly Carillon[];
  readonly lines: readonly ReleaseLine[];
  readonly clock: TestClock;
};

/**
 * Simulates the day of work before `NOW`, to create a delivery history. The time advances by hours, and by minutes in
 * the last hour.
 */
async function simulateDay(day: SimulatedDay): Promise<void> {
  const { owner, member, programs, lines, clock } = day;
  const notes = ['Standup notes', 'Release call', 'Review of the backlog', 'Pairing', 'Docs hour'];
  for (let round = 0; clock.now() < NOW; round += 1) {
    const isLastHour = clock.now() >= NOW - HOUR_MS;
    const line = lines[round % lines.length];
    const isLast = clock.now() >= NOW - MINUTE_MS;
    const actionCount = isLast ? 2 : isLastHour ? ((round * 40_503) >> 4) % 4 : 6 + ((round * round * 5) % 17);
    for (let count = 0; count < actionCount; count += 1) {
      const name = notes[(round + count) % notes.length] ?? '';
      const eventDay = `202612${String(8 + ((round * 3 + count) % 20)).padStart(2, '0')}`;
      const { event_id } = await owner.carillon.events.create({
        event_name: name,
        start_date: eventDay,
        due_date: eventDay,
      });
      // Half of the delivered records are fetched, for read receipts.
      if (count % 2 === 0) await owner.carillon.events.get(event_id);
      if (isLastHour) {
        await waitForDeliveries(day);
        await clock.advance(STEP_MS);
      }
    }
    await programs[0]?.user.get();
    if (!isLastHour) await programs[1]?.user.get();
    if (round % 4 === 1) {
      await member.carillon.tasks.create(line?.projectId ?? '', {
        task_name: `Follow up: ${notes[round % 5]}`,
        due_date: '20261204',
      });
    }
    if (round % 5 === 2) await owner.carillon.tasks.complete(line?.taskIds[round % 3] ?? '');
    if (round === 10)
      await owner.carillon.clients.create({ client_name: 'Carillon School', city: 'Mechelen', country: 'Belgium' });
    if (round === 20)
      await owner.carillon.projects.create({
        project_name: 'Website relaunch',
        color: '#b3261e',
        due_date: '20270131',
      });
    await waitForDeliveries(day);
    await (isLastHour ? clock.advance(MINUTE_MS - actionCount * STEP_MS) : skip(clock, HOUR_MS));
  }
}

const MINUTE_MS = 60_000;

/** In the last hour, the simulated clock advances by this duration after each created event. */
const STEP_MS = 11_000;

/** Waits until no live hook has a pending delivery. */
async function waitForDeliveries({ owner }: SimulatedDay): Promise<void> {
  await eventually(
    async () => {
      const { data } = await owner.carillon.hooks.list({ state: 'live' });
      const pending = await Promise.all(
        data.map(({ id }) => owner.carillon.deliveries.list({ hook_id: id, state: 'pending' })),
      );
      return pending.reduce((all, { paging }) => all + paging.total_records, 0);
    },
    (pending) => pending === 0,
  );
}

/**
 * Skips a time without calls. Timers run at their due times only in the last minutes, because running every poll of a
 * day would take longer than creating all records.
 */
async function skip(clock: TestClock, milliseconds: number): Promise<void> {
  const ticking = Math.min(milliseconds, 3 * MINUTE_MS);
  clock.jump(milliseconds - ticking);
  await clock.advance(ticking);
}
