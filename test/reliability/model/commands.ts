import assert from 'node:assert/strict';
import { fc } from '../../kit/packages.ts';
import { dayOf, type FieldEntries, fields, generateEntries, type ResourceType } from './fields.ts';
import {
  listDeliveries,
  listHooks,
  readFeed,
  restore,
  type SubscriptionForm,
  subscribe,
  unsubscribe,
} from './hooks.ts';
import { contradictions, expectedList, listRequests } from './lists.ts';
import { type CallerKey, collectionOf, kinds, permissionOf, type TargetStatus, type World } from './model.ts';
import {
  accessError,
  assertRecord,
  type NewIds,
  type PreconditionKind,
  planChange,
  planCreate,
  planDelete,
} from './records.ts';
import { type Rejection, rejection, type ServiceUnderTest } from './system.ts';

/** A command that runs against the model and the service. The response is compared with the model. */
class NamedCommand implements fc.AsyncCommand<World, ServiceUnderTest> {
  readonly #description: string;
  readonly #work: (world: World, real: ServiceUnderTest) => Promise<void>;

  constructor(description: string, work: (world: World, real: ServiceUnderTest) => Promise<void>) {
    this.#description = description;
    this.#work = work;
  }

  check = () => true;

  async run(world: World, real: ServiceUnderTest): Promise<void> {
    await this.#work(world, real);
    if (world.deliverDue()) await real.waitUntilIdle();
  }

  toString = () => this.#description;
}

type Args = Readonly<Record<string, unknown>>;

/**
 * Generates commands with random arguments and a random caller. A failure report prints the command with its
 * arguments.
 */
function defineCommand<A extends Args>(
  name: string,
  args: { [K in keyof A]: fc.Arbitrary<A[K]> },
  work: (world: World, real: ServiceUnderTest, given: A, key: CallerKey) => Promise<void>,
) {
  return fc.record({ ...args, who: callers }).map((all) => {
    const { who, ...rest } = all as { who: number } & A;
    return new NamedCommand(`${name}(${who}, ${JSON.stringify(rest)})`, (world, real) =>
      work(world, real, rest as unknown as A, keyOf(world, who)),
    );
  });
}

/**
 * Index of the caller: mostly the owner of the first account, else its admin, a member, a key with few
 * permissions, or the owner of the other account.
 */
const callers = fc.constantFrom(0, 0, 0, 0, 0, 1, 1, 2, 3, 4);

function keyOf(world: World, who: number): CallerKey {
  const key = world.keys[who];
  if (key === undefined) throw new Error(`there is no caller ${who}`);
  return key;
}

const picks = fc.nat(23);
const conditions = fc.constantFrom<PreconditionKind>(
  'none',
  'none',
  'none',
  'none',
  'none',
  'current',
  'current',
  'stale',
  'any',
);

/** Returns the headers of a precondition on a record, and whether the precondition is stale. */
function createPrecondition(
  world: World,
  real: ServiceUnderTest,
  key: CallerKey,
  resourceType: ResourceType,
  pick: number,
  condition: PreconditionKind,
  header: string,
) {
  if (condition === 'none') return { headers: {}, stale: false };
  if (condition === 'any') return { headers: { [header]: '*' }, stale: false };
  const id = world.pickId(key.account, resourceType, pick);
  const record = world.findRecord(key.account, resourceType, id);
  const shown = record === undefined ? undefined : world.displayedRecord(key.account, record);
  const tag = real.etagOf(`/${collectionOf(resourceType)}/${id}`, shown, condition);
  if (tag === undefined && condition === 'current') return { headers: {}, stale: false };
  return { headers: { [header]: tag ?? '"never"' }, stale: condition === 'stale' };
}

type CreateInput = { readonly pick: number; readonly entries: FieldEntries; readonly word: number };

function create(resourceType: ResourceType) {
  const args = {
    pick: picks,
    entries: generateEntries(resourceType, 'create'),
    word: fc.constantFrom(0, 0, 0, 0, 1, 2),
  };
  return defineCommand(`create ${resourceType}`, args, (world, real, given: CreateInput, key) =>
    createRecord(world, real, resourceType, given, key),
  );
}

async function createRecord(
  world: World,
  real: ServiceUnderTest,
  resourceType: ResourceType,
  given: CreateInput,
  key: CallerKey,
): Promise<void> {
  const { path, body, expected } = planCreate(world, key, resourceType, given);
  const name = given.word === 0 ? undefined : `${world.keys.indexOf(key)} ${given.word}`;
  const headers = given.word === 0 ? {} : { 'idempotency-key': `word-${given.word}` };
  const answer = await real.call(key, 'POST', path, body, headers);
  const away = accessError(world, key, permissionOf(resourceType, 'write'));
  const kept = name === undefined || away !== undefined ? undefined : world.storedResponse(name);
  if (kept !== undefined) {
    // The same request gets the stored response. Another request with the same key is rejected (X4).
    if (kept.call !== `${path} ${JSON.stringify(body)}`)
      return real.assertRejected(answer, rejection(422, 'idempotency_mismatch'));
    assert.deepEqual([answer.status, answer.json], [201, kept.json]);
    return assert.equal(answer.headers.get('idempotency-replayed'), 'true');
  }
  if (typeof expected !== 'function') return real.assertRejected(answer, expected);
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.headers.get('idempotency-replayed'), null);
  const id = String(answer.json.data[`${resourceType}_id`]);
  assert.match(id, /^[1-9]\d*$/);
  assert.ok(!world.isKnown(resourceType, id), `${resourceType} ${id} was issued before`);
  assert.equal(answer.headers.get('location'), `${real.base}/${collectionOf(resourceType)}/${id}`);
  assertRecord(world, real, key, expected(id), answer);
  if (name !== undefined) world.storeResponse(name, { call: `${path} ${JSON.stringify(body)}`, json: answer.json });
}

/** Repeats an earlier request with its Idempotency-Key, unchanged or modified (X4). */
const repeatRequest = defineCommand(
  'again',
  { pick: picks, same: fc.boolean() },
  async (world, real, { pick, same }, _key) => {
    const names = world.storedResponseKeys();
    const name = names[pick % Math.max(1, names.length)] ?? '';
    const kept = world.storedResponse(name);
    if (kept === undefined) return;
    const { call, json } = kept;
    const [who, word] = name.split(' ');
    const key = keyOf(world, Number(who));
    const [path = '', ...rest] = call.split(' ');
    const body = same ? rest.join(' ') : `${rest.join(' ')} `;
    const answer = await real.call(key, 'POST', path, body, { 'idempotency-key': `word-${word}` });
    const resourceType = path.split('/')[1]?.replace(/s$/, '') as ResourceType;
    const away = accessError(world, key, permissionOf(resourceType, 'write'));
    if (away !== undefined) return real.assertRejected(answer, away);
    if (!same) return real.assertRejected(answer, rejection(422, 'idempotency_mismatch'));
    assert.deepEqual([answer.status, answer.json], [201, json]);
    assert.equal(answer.headers.get('idempotency-replayed'), 'true');
  },
);

const completions: readonly FieldEntries[] = [
  [['completed', { as: 'text', sent: 1, displayed: '1' }]],
  [['completed', { as: 'text', sent: false, displayed: '0' }]],
  [['resume', { as: 'text', sent: '1', displayed: '1' }]],
  ...['M', 'D'].map(
    (letter): FieldEntries => [
      ['recurring', { as: 'text', sent: letter, displayed: letter }],
      ['completed', { as: 'text', sent: '1', displayed: '1' }],
    ],
  ),
];

const assignments =
  fields.task.users?.good.map((written): FieldEntries => [['users', written]]) ?? fc.constant<FieldEntries>([]);

function change(resourceType: ResourceType, entries = generateEntries(resourceType, 'change')) {
  const args = { pick: picks, entries, condition: conditions };
  return defineCommand(`change ${resourceType}`, args, async (world, real, { pick, entries, condition }, key) => {
    const { headers, stale } = createPrecondition(world, real, key, resourceType, pick, condition, 'if-match');
    const precondition = Object.keys(headers).length === 0 ? 'none' : stale ? 'stale' : 'holds';
    const planned = planChange(world, key, resourceType, { pick, entries, condition: precondition });
    const answer = await real.call(key, 'PUT', planned.path, planned.body, headers);
    if (typeof planned.expected !== 'function') return real.assertRejected(answer, planned.expected);
    assert.equal(answer.status, 200, answer.text);
    planned.expected(await fetchNewIds(world, real, key));
    const record = world.findRecord(key.account, resourceType, planned.path.split('/')[2] ?? '');
    if (record !== undefined) assertRecord(world, real, key, record, answer);
  });
}

/** Returns the ids of tasks and subtasks that the model does not know, because a completion has created them (C41). */
async function fetchNewIds(world: World, real: ServiceUnderTest, key: CallerKey): Promise<NewIds> {
  const unknown = new Map<ResourceType, string[]>();
  for (const resourceType of ['task', 'subtask'] as const) {
    const { json } = await real.call(key, 'GET', `/${collectionOf(resourceType)}`);
    const ids: string[] = (json.data ?? []).map((record: Record<string, string>) => record[`${resourceType}_id`]);
    unknown.set(
      resourceType,
      ids.filter((id) => !world.isKnown(resourceType, id)),
    );
  }
  return (resourceType) => unknown.get(resourceType)?.shift() ?? `no new ${resourceType}`;
}

function remove(resourceType: ResourceType) {
  const args = { pick: picks, condition: conditions };
  return defineCommand(`delete ${resourceType}`, args, async (world, real, { pick, condition }, key) => {
    const { headers, stale } = createPrecondition(world, real, key, resourceType, pick, condition, 'if-match');
    const { path, expected } = planDelete(world, key, resourceType, { pick, stale });
    const answer = await real.call(key, 'DELETE', path, undefined, headers);
    if (typeof expected !== 'function') return real.assertRejected(answer, expected);
    assert.deepEqual([answer.status, answer.json], [200, []], answer.text);
    expected();
  });
}

function read(resourceType: ResourceType) {
  const args = { pick: picks, condition: conditions };
  return defineCommand(`read ${resourceType}`, args, async (world, real, { pick, condition }, key) => {
    const { headers, stale } = createPrecondition(world, real, key, resourceType, pick, condition, 'if-none-match');
    const id = world.pickId(key.account, resourceType, pick);
    const answer = await real.call(key, 'GET', `/${collectionOf(resourceType)}/${id}`, undefined, headers);
    const away = accessError(world, key, permissionOf(resourceType, 'read'));
    if (away !== undefined) return real.assertRejected(answer, away);
    const record = world.findRecord(key.account, resourceType, id);
    if (record === undefined) return real.assertRejected(answer, rejection(404, 'not_found'));
    if (Object.keys(headers).length > 0 && !stale) return assert.deepEqual([answer.status, answer.text], [304, '']);
    assert.equal(answer.status, 200);
    assertRecord(world, real, key, record, answer);
  });
}

function list(resourceType: ResourceType) {
  return defineCommand(
    `list ${resourceType}`,
    { asked: listRequests(resourceType) },
    async (world, real, { asked }, key) => {
      const { query, records } = expectedList(world, key.account, resourceType, asked);
      const search = new URLSearchParams(query);
      for (const name of ['limit', 'offset'] as const)
        if (asked[name] !== undefined) search.set(name, String(asked[name]));
      const answer = await real.call(key, 'GET', `/${collectionOf(resourceType)}?${search}`);
      const refused = listRejection(world, key, resourceType, asked, query);
      if (refused !== undefined) return real.assertRejected(answer, refused);
      const { limit: requestedLimit = 1_000, offset = 0 } = asked;
      const limit = Math.min(requestedLimit, 1_000);
      const page = records.slice(offset, offset + limit).map((record) => world.displayedRecord(key.account, record));
      assert.deepEqual(answer.json, { paging: { offset, limit, total_records: records.length }, data: page });
      const link = answer.headers.get('link');
      if (offset + limit >= records.length) return assert.equal(link, null);
      const [, next = ''] = /^<(.*)>; rel="next"$/.exec(link ?? '') ?? [];
      assert.ok(next.startsWith(`${real.base}/${collectionOf(resourceType)}?`), `link: ${link}`);
      assert.equal(new URL(next).searchParams.get('offset'), String(offset + limit));
    },
  );
}

function listRejection(
  world: World,
  key: CallerKey,
  resourceType: ResourceType,
  { limit, offset }: { limit: number | undefined; offset: number | undefined },
  query: Readonly<Record<string, string>>,
): Rejection | undefined {
  const away = accessError(world, key, permissionOf(resourceType, 'read'));
  if (away !== undefined) return away;
  const bad = [...(limit === 0 ? ['limit'] : []), ...((offset ?? 0) < 0 ? ['offset'] : [])];
  const apart = bad.length > 0 ? bad : contradictions(query);
  return apart.length > 0 ? rejection(400, 'invalid_input', apart) : undefined;
}

/** Returns the first caller who has an ended hook, or the given caller if there is none. */
function callerWithEndedHook(world: World, key: CallerKey): CallerKey {
  const hasOne = (one: CallerKey) =>
    one.account.hooks.some((hook) => hook.userId === one.userId && hook.ended !== undefined);
  return world.keys.find(hasOne) ?? key;
}

const restoreHook = defineCommand('restore', { pick: picks }, (world, real, { pick }, key) =>
  restore(world, real, pick % 4 === 0 ? key : callerWithEndedHook(world, key), pick),
);

const targetPicks = fc.nat(7);
const subscriptionForms: readonly SubscriptionForm[] = ['event', 'event', 'several', 'account', 'own'];
/** Lets time pass, and stops at each retry that becomes due. */
const wait = defineCommand(
  'wait',
  { seconds: fc.constantFrom(1, 60, 60, 61, 7_200, 7_200, 7_200, 90_000) },
  async (world, real, { seconds }) => {
    const end = world.now + seconds * 1_000;
    for (let next = world.nextDue(end); world.now < end; next = world.nextDue(end)) {
      await real.clock.advance(next - world.now);
      world.now = next;
      if (world.deliverDue()) await real.waitUntilIdle();
    }
  },
);

const changeTargetStatus = defineCommand(
  'behave',
  { target: targetPicks, manner: fc.constantFrom<TargetStatus>(200, 200, 200, 500, 500, 401, 401) },
  async (world, _real, { target, manner }) =>
    world.setTargetStatus(`http://127.0.0.1:9/${world.urlMark}/${target}`, manner),
);

const feed = defineCommand(
  'feed',
  {
    scope: fc.constantFrom<'own' | 'account'>('own', 'account'),
    limit: fc.constantFrom(1, 3, 1_000),
    kindPick: fc.option(picks, { nil: undefined }),
  },
  runReadFeed,
);
async function runReadFeed(
  world: World,
  real: ServiceUnderTest,
  given: { scope: 'own' | 'account'; limit: number; kindPick: number | undefined },
  key: CallerKey,
): Promise<void> {
  await readFeed(world, real, key, given);
}

const records: readonly ResourceType[] = ['client', 'project', 'task', 'subtask', 'event'];
const doubled = <T>(all: readonly T[]) => [...all, ...all];

/**
 * Creates the initial state of a world: records of each type in the first account, at several dates, and hooks of
 * its owner.
 */
export async function createInitialRecords(world: World, real: ServiceUnderTest): Promise<void> {
  const key = keyOf(world, 0);
  for (const [index, resourceType] of (
    ['client', 'project', 'task', 'task', 'subtask', 'subtask', 'event', 'event', 'event', 'client', 'project'] as const
  ).entries()) {
    const named: FieldEntries = [[`${resourceType}_name`, { as: 'text', sent: 'First', displayed: 'First' }]];
    const time = `${dayOf(1 + (index % 4))} ${index % 2 === 0 ? '10:30:00' : '00:00:00'}`;
    const dated: FieldEntries = ['start_date', 'due_date'].map((field) => [
      field,
      { as: 'text', sent: time, displayed: time },
    ]);
    const assigned: FieldEntries = resourceType === 'event' ? [] : [['users', { as: 'users', picks: [index % 3] }]];
    const entries = resourceType === 'client' ? named : [...named, ...dated, ...assigned];
    await createRecord(world, real, resourceType, { pick: index, entries, word: 0 }, key);
  }
  for (const kind of kinds.keys()) await subscribe(world, real, key, { kindPick: kind, targetPick: kind });
}

/** All commands; repeated entries are more likely. */
export const allCommands: fc.Arbitrary<fc.AsyncCommand<World, ServiceUnderTest>>[] = [
  ...doubled(doubled(records)).map(create),
  ...doubled(records).map((resourceType) => change(resourceType)),
  ...records.map(remove),
  ...records.map(read),
  ...doubled(records).map(list),
  ...[create('user'), change('user'), remove('user'), remove('user'), read('user'), list('user')],
  ...doubled(
    doubled([
      defineCommand(
        'subscribe',
        { kindPick: fc.nat(6), targetPick: targetPicks, form: fc.constantFrom(...subscriptionForms) },
        (world, real, given, key) => subscribe(world, real, key, given),
      ),
    ]),
  ),
  ...doubled([
    defineCommand('unsubscribe', { pick: picks }, (world, real, { pick }, key) => unsubscribe(world, real, key, pick)),
    ...doubled([restoreHook]),
  ]),
  defineCommand('hooks', { pick: fc.nat(5) }, (world, real, { pick }, key) => listHooks(world, real, key, pick)),
  defineCommand('deliveries', {}, (world, real, _given, key) => listDeliveries(world, real, key)),
  ...doubled(
    doubled(
      [...(['task', 'subtask'] as const)].map((resourceType) => change(resourceType, fc.constantFrom(...completions))),
    ),
  ),
  ...(['project', 'task', 'subtask', 'subtask'] as const).map((resourceType) => change(resourceType, assignments)),
  ...[repeatRequest, repeatRequest, wait, wait, changeTargetStatus, changeTargetStatus, feed],
];
