import assert from 'node:assert/strict';
import { NO_DATE } from './fields.ts';
import {
  type CallerKey,
  collectionOf,
  formatTimestamp,
  furtherKinds,
  kinds,
  type ModelHook,
  type ModelOccurrence,
  permissionOf,
  resourceTypeOfKind,
  type World,
} from './model.ts';
import { accessError } from './records.ts';
import { rejection, type ServiceUnderTest } from './system.ts';

/** Returns a hook as the API displays it (X1). */
function displayedHook(hook: ModelHook): Record<string, unknown> {
  const onlyKind = hook.events.length === 1 && hook.events[0] !== '*' ? hook.events[0] : '';
  const alive = hook.failures > 0 ? 'failing' : 'live';
  return {
    ...{ id: hook.id, target_url: hook.target, user_id: hook.userId, name: '', headers: [], enabled: '1' },
    ...{ events: hook.events, event: onlyKind, scope: hook.scope, project_id: '0' },
    ...{ state: hook.ended === undefined ? alive : 'ended', failures: String(hook.failures) },
    ...{
      next_attempt_at: hook.dueAt === undefined ? NO_DATE : formatTimestamp(hook.dueAt),
      last_outcome: hook.lastOutcome,
    },
    ...{ date_created: hook.created, date_ended: hook.ended?.at ?? NO_DATE, ended_reason: hook.ended?.reason ?? '' },
    ...{ signed: '0', secret_created: NO_DATE, secret_previous_until: NO_DATE },
  };
}

/**
 * Picks a random hook: mostly a matching hook, else another hook of the account, a hook of the other account, or
 * an unknown id.
 */
function pickHook(world: World, key: CallerKey, pick: number, matches: (hook: ModelHook) => boolean) {
  const { hooks } = key.account;
  const foreign = world.accounts.find((one) => one !== key.account)?.hooks.slice(0, 1) ?? [];
  const matching = hooks.filter(matches);
  const ids = [...matching, ...matching, ...matching, ...hooks, ...foreign].map(({ id }) => id);
  const id = [...ids, '9007199254740990'][pick % (ids.length + 1)] ?? '';
  return { id, hook: hooks.find((one) => one.id === id) };
}

/** Form of a subscription: with `event`, or with `events` and a scope. */
export type SubscriptionForm = 'event' | 'several' | 'account' | 'own';

/** Returns the rejection of a key that may not read a kind. */
const reportError = (world: World, key: CallerKey, events: readonly string[]) =>
  events
    .filter((kind) => kind !== '*')
    .map((kind) => accessError(world, key, permissionOf(resourceTypeOfKind(kind), 'read')))
    .find((error) => error !== undefined);

/** One kind for each permission that a hook with `*` has. */
const readableKinds = ({ permissions }: ModelHook): string[] =>
  ['new_client', 'new_project', 'new_task', 'new_event', 'new_user'].filter((kind) =>
    permissions.has(permissionOf(resourceTypeOfKind(kind), 'read')),
  );

/** Creates a hook (C11, C12, X11). */
export async function subscribe(
  world: World,
  real: ServiceUnderTest,
  key: CallerKey,
  { kindPick, targetPick, form = 'event' }: { kindPick: number; targetPick: number; form?: SubscriptionForm },
): Promise<void> {
  const kind = kinds[kindPick % kinds.length] ?? '';
  const others = [furtherKinds[(kindPick * 2) % furtherKinds.length] ?? '', furtherKinds[targetPick * 2] ?? ''];
  const events = { event: [kind], several: [...new Set([kind, ...others])], account: ['*'], own: ['*'] }[form];
  const scope = form === 'account' || (form === 'several' && targetPick % 2 === 0) ? 'account' : 'own';
  const target = `http://127.0.0.1:9/${world.urlMark}/${targetPick}`;
  const body = form === 'event' ? { event: kind } : { events, scope };
  const answer = await real.call(key, 'POST', '/hooks', { target_url: target, ...body });
  const away = accessError(world, key, 'hooks:write') ?? reportError(world, key, events);
  if (away !== undefined) return real.assertRejected(answer, away);
  if (scope === 'account' && !world.isAdmin(key)) return real.assertRejected(answer, rejection(401, 'not_permitted'));
  if (world.isTargetTaken(target)) return real.assertRejected(answer, rejection(409, 'target_taken'));
  assert.deepEqual([answer.status, Object.keys(answer.json)], [201, ['id']]);
  const { id } = answer.json;
  assert.equal(answer.headers.get('location'), `${real.base}/hooks/${id}`);
  key.account.hooks.push({
    ...{ id, events, scope, target, userId: key.userId, created: world.time, failures: 0, dueAt: undefined },
    ...{ permissions: key.permissions, lastOutcome: '', ended: undefined, pending: [], delivered: [] },
  });
}

/** Deletes a hook (C13). */
export async function unsubscribe(world: World, real: ServiceUnderTest, key: CallerKey, pick: number): Promise<void> {
  const { id, hook } = pickHook(world, key, pick, ({ ended }) => ended === undefined);
  const answer = await real.call(key, 'DELETE', `/hooks/${id}`);
  const away = accessError(world, key, 'hooks:write');
  if (away !== undefined) return real.assertRejected(answer, away);
  if (hook === undefined) return real.assertRejected(answer, rejection(404, 'not_found'));
  if (hook.userId !== key.userId && !world.isAdmin(key))
    return real.assertRejected(answer, rejection(401, 'not_permitted'));
  if (hook.ended !== undefined) return real.assertRejected(answer, rejection(404, 'not_found'));
  assert.deepEqual([answer.status, answer.json], [200, []]);
  world.endHook(key.account, hook, 'deleted');
}

/** Restores a hook (X1). */
export async function restore(world: World, real: ServiceUnderTest, key: CallerKey, pick: number): Promise<void> {
  const { id, hook } = pickHook(world, key, pick, ({ ended, userId }) => ended !== undefined && userId === key.userId);
  const answer = await real.call(key, 'POST', `/hooks/${id}/restore`);
  const away = accessError(world, key, 'hooks:write');
  if (away !== undefined) return real.assertRejected(answer, away);
  if (hook?.ended === undefined || hook.userId !== key.userId)
    return real.assertRejected(answer, rejection(404, 'not_found'));
  const unread = reportError(world, key, hook.events.includes('*') ? readableKinds(hook) : hook.events);
  if (unread !== undefined) return real.assertRejected(answer, unread);
  if (hook.scope === 'account' && !world.isAdmin(key))
    return real.assertRejected(answer, rejection(401, 'not_permitted'));
  if (world.isTargetTaken(hook.target)) return real.assertRejected(answer, rejection(409, 'target_taken'));
  assert.equal(answer.status, 200);
  world.restoreHook(key.account, hook);
  assert.deepEqual(answer.json, { data: displayedHook(hook) });
}

/** Compares the whole list of hooks of the caller or, for admins, of another user (X1). */
export async function listHooks(world: World, real: ServiceUnderTest, key: CallerKey, pick: number): Promise<void> {
  const userId = pick === 0 ? key.userId : world.pickId(key.account, 'user', pick);
  const answer = await real.call(key, 'GET', `/hooks${pick === 0 ? '' : `?user_id=${userId}`}`);
  const away = accessError(world, key, 'hooks:read');
  if (away !== undefined) return real.assertRejected(answer, away);
  if (userId !== key.userId && !world.isAdmin(key)) return real.assertRejected(answer, rejection(401, 'not_permitted'));
  const own = key.account.hooks.filter((hook) => hook.userId === userId);
  assert.deepEqual(answer.json.data, own.map(displayedHook));
  assert.equal(answer.json.paging.total_records, own.length);
}

/** Compares the deliveries of the hooks of the caller, with their states (X3). */
export async function listDeliveries(world: World, real: ServiceUnderTest, key: CallerKey): Promise<void> {
  const answer = await real.call(key, 'GET', '/deliveries');
  const away = accessError(world, key, 'hooks:read');
  if (away !== undefined) return real.assertRejected(answer, away);
  const line = (hook: string, kind: string, url: string, state: string) => `${hook} ${kind} ${url} ${state}`;
  const expected = key.account.hooks
    .filter((hook) => hook.userId === key.userId)
    .flatMap((hook) => [
      ...hook.delivered.map((one) => line(hook.id, one.kind, recordUrl(real, one), 'delivered')),
      ...hook.pending.map((one) =>
        line(hook.id, one.kind, recordUrl(real, one), hook.ended === undefined ? 'pending' : 'undelivered'),
      ),
    ]);
  const found = answer.json.data.map((one: Record<string, string>) =>
    line(one.hook_id ?? '', one.event ?? '', one.resource_url ?? '', one.state ?? ''),
  );
  assert.deepEqual(found.sort(), expected.sort());
}

export const recordUrl = (real: ServiceUnderTest, { resourceType, id }: Pick<ModelOccurrence, 'resourceType' | 'id'>) =>
  `${real.base}/${collectionOf(resourceType)}/${id}`;

/** Reads the feed page by page and compares it with the model (X2). */
export async function readFeed(
  world: World,
  real: ServiceUnderTest,
  key: CallerKey,
  { scope, limit, kindPick }: { scope: 'own' | 'account'; limit: number; kindPick: number | undefined },
): Promise<void> {
  const kind =
    kindPick === undefined
      ? undefined
      : `${['new', 'changed', 'deleted'][kindPick % 3]}_${['task', 'event', 'user', 'project'][kindPick % 4]}`;
  const fetchPage = (after: string) =>
    real.call(
      key,
      'GET',
      `/notifications?scope=${scope}&limit=${limit}${after}${kind === undefined ? '' : `&kind=${kind}`}`,
    );
  const away = accessError(world, key, 'hooks:read');
  const first = await fetchPage('');
  if (away !== undefined) return real.assertRejected(first, away);
  if (scope === 'account' && !world.isAdmin(key)) return real.assertRejected(first, rejection(401, 'not_permitted'));
  const found: Record<string, string>[] = [];
  for (let page = first; page.json.data.length > 0; page = await fetchPage(`&after=${page.json.next}`)) {
    assert.equal(page.status, 200);
    assert.ok(page.json.data.length <= limit);
    found.push(...page.json.data);
  }
  const cursors = found.map(({ cursor }) => Number(cursor));
  assert.deepEqual(
    cursors,
    [...cursors].sort((a, b) => a - b),
  );
  assert.equal(new Set(cursors).size, cursors.length);
  const expected = key.account.feed.filter(
    (one) =>
      (scope === 'account' || one.userId === key.userId) &&
      world.hasPermission(key, permissionOf(one.resourceType, 'read')) &&
      (kind === undefined || one.kind === kind),
  );
  const lines = found.map((one) => `${one.kind} ${one.resource_url} ${one.occurred_at} ${one.user_id}`);
  assert.equal(lines.length, expected.length, lines.join('\n'));
  const own = expected.map((one) => feedLine(real, one));
  assert.deepEqual(sortedByTransaction(lines, expected), sortedByTransaction(own, expected));
}

function feedLine(real: ServiceUnderTest, one: ModelOccurrence): string {
  return `${one.kind} ${recordUrl(real, one)} ${one.at} ${one.userId}`;
}

/** Sorts the lines of each transaction, because the order of occurrences within one transaction is undefined. */
function sortedByTransaction(lines: readonly string[], happened: readonly ModelOccurrence[]): string[] {
  return [...Map.groupBy(lines.keys(), (index) => happened[index]?.transaction).values()].flatMap((group) =>
    group.map((index) => lines[index] ?? '').sort(),
  );
}
