import type { FeedEntry } from '../../../packages/sdk/src/index.ts';
import { occurrenceKinds } from '../../../src/delivery/outbox/event-kinds.ts';
import { eventually } from '../../kit/eventually.ts';
import type { Target } from '../../kit/network/target.ts';
import type { ApiResponse, ApiUser, ConsoleUser, TestService } from '../../kit/service/service.ts';
import { comparableBytes, containsMark } from './checks.ts';
import type { Tenant } from './fixture.ts';
import { NEVER_ISSUED } from './id-probes.ts';

/** A user of the matrix, with the kinds whose records the key may read. */
type MatrixUser = { readonly name: string; readonly as: ApiUser; readonly isAdmin: boolean; readonly area: string };

type MatrixHook = {
  readonly path: string;
  readonly user: MatrixUser;
  readonly scope: string;
  readonly projectId: string;
  readonly kind: string;
};

const scopes = ['own', 'project', 'account'] as const;
const kinds = ['*', ...occurrenceKinds];

/** Number of requests at a time. */
const CONCURRENCY = 8;

/**
 * The matrix user × scope × project × kind (X11): creates a hook and reads feed, activity and deliveries for each
 * combination, lets the users of both accounts work, and compares everything with the feed of the account. Returns the
 * violations and the number of cells.
 */
export async function checkHookMatrix(
  carillon: TestService,
  target: Target,
  ours: Tenant,
  foreign: Tenant,
): Promise<{ readonly broken: readonly string[]; readonly cells: number }> {
  const broken: string[] = [];
  let cells = 0;
  const { owner } = ours;
  const member = await carillon.createUser(owner, 'member');
  const permissions = ['hooks:read', 'hooks:write', 'events:read'] as const;
  const users: readonly MatrixUser[] = [
    { name: 'owner', as: owner, isAdmin: true, area: '' },
    { name: 'admin', as: await carillon.createUser(owner, 'admin'), isAdmin: true, area: '' },
    { name: 'member', as: member, isAdmin: false, area: '' },
    { name: 'narrow', as: await carillon.createKey(member, { permissions }), isAdmin: false, area: '_event' },
  ];
  const projects = await Promise.all(
    ['A', 'B'].map(async (name) => (await owner.carillon.projects.create({ project_name: name })).project_id),
  );
  const foreignProject = foreign.ids.project_id?.[0] ?? '';
  const check = (description: string, isRight: boolean, found: unknown) => {
    cells += 1;
    if (!isRight) broken.push(`${description}: ${JSON.stringify(found).slice(0, 300)}`);
  };
  // A session belongs to a user, not to a key.
  const sessions = new Map<MatrixUser, ConsoleUser>();
  for (const user of users.slice(0, 3)) sessions.set(user, await carillon.signIn(user.as));
  const isReadable = ({ area }: MatrixUser, kind: string) => kind === '*' || kind.endsWith(area);
  const start = Number((await owner.carillon.notifications.list({ scope: 'account', after: 'latest' })).next);

  const hooks: MatrixHook[] = [];
  const combinations = users.flatMap((user) =>
    scopes.flatMap((scope) =>
      (scope === 'project' ? [...projects, foreignProject] : ['0']).flatMap((projectId) =>
        kinds.map((kind) => ({ user, scope, projectId, kind })),
      ),
    ),
  );
  await concurrently(combinations, async ({ user, scope, projectId, kind }) => {
    const path = `/matrix-${user.name}-${scope}-${projectId}-${kind}`;
    const body = { target_url: target.urlOf(path), events: [kind], scope };
    const subscribe = (project_id: string) =>
      carillon.call(user.as, 'POST', '/v2/hooks', scope === 'project' ? { ...body, project_id } : body);
    const answer = await subscribe(projectId);
    const away = !isReadable(user, kind) || (scope === 'account' && !user.isAdmin);
    if (away) check(`POST ${path}`, answer.json.code === 'not_permitted', answer.json);
    else if (projectId === foreignProject) {
      const unknown = await subscribe(NEVER_ISSUED);
      check(`POST ${path}`, answer.status === 404 && comparableBytes(answer) === comparableBytes(unknown), answer.json);
    } else {
      check(`POST ${path}`, answer.status === 201, answer.json);
      hooks.push({ path, user, scope, projectId, kind });
    }
  });
  // A hook cannot be moved to a project of another account, either.
  const moved = hooks.find(({ user, scope }) => user.name === 'owner' && scope === 'project');
  const [movedHook] = (await owner.carillon.hooks.list()).data.filter(({ target_url }) =>
    target_url.endsWith(moved?.path ?? ''),
  );
  const move = (project_id: string) => carillon.call(owner, 'PUT', `/v2/hooks/${movedHook?.id}`, { project_id });
  const [toForeign, toUnknown] = [await move(foreignProject), await move(NEVER_ISSUED)];
  check(
    'PUT /v2/hooks of a project of another account',
    toForeign.status === 404 && comparableBytes(toForeign) === comparableBytes(toUnknown),
    toForeign.json,
  );

  for (const user of users.slice(0, 3)) await work(user.as, projects);
  await work(foreign.owner, [foreignProject, foreignProject]);

  const feed = (await owner.carillon.notifications.list({ scope: 'account', after: String(start) })).data;
  const reports = ({ user, scope, projectId, kind }: Omit<MatrixHook, 'path'>, entry: FeedEntry) =>
    isReadable(user, entry.kind) &&
    (kind === '*' || kind === entry.kind) &&
    (scope === 'account' ||
      (scope === 'own'
        ? entry.user_id === user.as.userId
        : [entry.project_id, entry.previous_project_id].includes(projectId)));
  const expected = new Map(hooks.map((hook) => [hook.path, feed.filter((entry) => reports(hook, entry))]));
  const total = [...expected.values()].flat().length;
  // A delivery is sent again if the process was paused meanwhile (C19), under the same id.
  const received = () => {
    const own = target.received.filter(({ path }) => path.startsWith('/matrix-'));
    return [...new Map(own.map((one) => [`${one.path} ${one.deliveryId}`, one])).values()];
  };
  await eventually(
    async () => received().length,
    (count) => count >= total,
    60_000,
  );
  await target.catchUp();
  const byPath = Map.groupBy(received(), ({ path }) => path);
  for (const [path, entries] of expected) {
    const cursors = (byPath.get(path) ?? []).map(({ headers }) => String(headers['webhook-cursor']));
    const right = entries.map(({ cursor }) => cursor).sort();
    check(path, JSON.stringify(cursors.sort()) === JSON.stringify(right), { cursors, right });
  }

  await concurrently(combinations, async ({ user, scope, projectId, kind }) => {
    const query = `scope=${scope}${scope === 'project' ? `&project_id=${projectId}` : ''}${kind === '*' ? '' : `&kind=${kind}`}`;
    const isRefused = scope === 'account' && !user.isAdmin;
    const session = sessions.get(user);
    const pages = [
      await carillon.call(user.as, 'GET', `/v2/notifications?${query}&after=${start}`),
      ...(session ? [await readActivity(carillon, session, query)] : []),
    ];
    for (const [index, answer] of pages.entries()) {
      const description = `GET ${['feed', 'activity'][index]}?${query} of ${user.name}`;
      check(description, !containsMark(foreign.mark, answer), answer.text);
      if (isRefused) check(description, answer.json.code === 'not_permitted', answer.json);
      else if (projectId === foreignProject) check(description, (answer.json.data ?? []).length === 0, answer.json);
      else {
        const entries: FeedEntry[] = answer.json.data.filter(({ cursor }: FeedEntry) => Number(cursor) > start);
        const right = feed.filter((entry) => reports({ user, scope, projectId, kind }, entry));
        const cursorsOf = (some: readonly FeedEntry[]) =>
          some.map(({ cursor }) => Number(cursor)).sort((a, b) => a - b);
        const isRight = JSON.stringify(cursorsOf(entries)) === JSON.stringify(cursorsOf(right));
        check(description, isRight, { entries: cursorsOf(entries), right: cursorsOf(right) });
        const deliveries = (answer.json.data as { deliveries?: { user_id: string }[] }[]).flatMap(
          (one) => one.deliveries ?? [],
        );
        const foreignDelivery = deliveries.find(({ user_id }) => !user.isAdmin && user_id !== user.as.userId);
        check(description, foreignDelivery === undefined, foreignDelivery);
      }
    }
  });
  for (const user of users) {
    const own = new Set(
      (await carillon.call(user.as, 'GET', '/v2/hooks?limit=1000')).json.data.map(({ id }: { id: string }) => id),
    );
    const deliveries = await carillon.call(user.as, 'GET', '/v2/deliveries?limit=1000');
    const away = deliveries.json.data.find(({ hook_id }: { hook_id: string }) => !own.has(hook_id));
    check(`GET deliveries of ${user.name}`, away === undefined && !containsMark(foreign.mark, deliveries), away);
  }
  return { broken, cells };
}

/** Reads all pages of the activity, as one response. */
async function readActivity(carillon: TestService, session: ConsoleUser, query: string): Promise<ApiResponse> {
  const read = (before: string) => carillon.call(session, 'GET', `/console/api/activity?${query}&limit=200${before}`);
  let all = await read('');
  for (let { next } = all.json; next; ) {
    const page = await read(`&before=${next}`);
    all = { ...all, text: all.text + page.text, json: { data: [...all.json.data, ...page.json.data] } };
    ({ next } = page.json);
  }
  return all;
}

async function concurrently<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const next = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const item of next) await run(item);
    }),
  );
}

/** Creates, changes, moves, assigns, completes, reopens and deletes records in two projects and outside of them. */
async function work({ carillon: as, userId }: ApiUser, [one = '', other = '']: readonly string[]): Promise<void> {
  const dates = { start_date: '20270101', due_date: '20270102' };
  await as.events.create({ event_name: 'Outside', ...dates });
  const { event_id } = await as.events.create({ event_name: 'Inside', project_id: one, ...dates });
  await as.events.update(event_id, { project_id: other });
  const { task_id } = await as.tasks.create(one, { task_name: 'Task' });
  const { subtask_id } = await as.subtasks.create(task_id, { subtask_name: 'Subtask' });
  await as.comments.create(one, { comment: 'Comment', task_id });
  await as.timeEntries.create(task_id, { seconds: 60 });
  await as.tasks.update(task_id, { users: [userId] });
  await as.tasks.complete(task_id);
  await as.tasks.update(task_id, { resume: 1 });
  await as.subtasks.update(subtask_id, { resume: 1 });
  await as.tasks.update(task_id, { project_id: other });
  const { client_id } = await as.clients.create({ client_name: 'Client' });
  await as.clients.delete(client_id);
  await as.events.delete(event_id);
  await as.tasks.delete(task_id);
}
