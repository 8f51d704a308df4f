import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Permission, Role } from '../../src/access.ts';
import { hookKinds, type Kind } from '../../src/delivery/kinds.ts';
import type { EndedReason } from '../../src/delivery/policy.ts';
import { createLog } from '../../src/log.ts';
import { problems } from '../../src/problems.ts';
import type { clientFields, clientFilters, clientOrder } from '../../src/resources/clients/schema.ts';
import type { companyFields } from '../../src/resources/company/schema.ts';
import type {
  AttemptRow,
  deliveryDetailFields,
  deliveryParameters,
  deliveryStates,
} from '../../src/resources/deliveries/schema.ts';
import type { eventFields, eventFilters } from '../../src/resources/events/schema.ts';
import type { hookFields, hookFilters, hookInputFields, ownerParameter } from '../../src/resources/hooks/schema.ts';
import { allRoutes } from '../../src/resources/index.ts';
import type { issuedKeyFields, keyChangeFields, keyFilters, keyInputFields } from '../../src/resources/keys/schema.ts';
import type { notificationFields, notificationParameters } from '../../src/resources/notifications/schema.ts';
import type { projectFields, projectFilters, projectOrder } from '../../src/resources/projects/schema.ts';
import type { subtaskChangeFields, subtaskFields, subtaskFilters } from '../../src/resources/subtasks/schema.ts';
import type { taskChangeFields, taskFields, taskFilters, taskOrder } from '../../src/resources/tasks/schema.ts';
import type { userFields } from '../../src/resources/users/schema.ts';
import * as sdk from '../../src/sdk/index.ts';
import { systemChance } from '../../src/secrets.ts';
import { shapeOf } from '../harness/openapi.ts';

/** Two names of the same: the compiler refuses `true` where they are not. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

/** The SDK says in types what the server says in tables; checked by the compiler, since types are gone at run time. */
const sameWords: {
  permission: Same<sdk.Permission, Permission>;
  role: Same<sdk.Role, Role>;
  endedReason: Same<sdk.EndedReason, EndedReason | ''>;
  deliveryState: Same<sdk.DeliveryState, (typeof deliveryStates)[number]>;
  attempt: Same<keyof sdk.Attempt, keyof AttemptRow>;
  feedKind: Same<sdk.FeedKind, Kind>;
} = { permission: true, role: true, endedReason: true, deliveryState: true, attempt: true, feedKind: true };

/** What is shown, and what can be written, of a noun's fields. */
type ShownOf<F> = { [K in keyof F]: F[K] extends { mode: 'asked' } ? never : K }[keyof F];
type WrittenOf<F> = { [K in keyof F]: F[K] extends { mode: 'written' | 'asked' } ? K : never }[keyof F];
type Noun<Fields, Record, Input, Takes, Changes, Filters, Parameters> = [
  Same<keyof Record, ShownOf<Fields>>,
  Same<keyof Input, WrittenOf<Fields>>,
  Same<keyof Changes, WrittenOf<Takes>>,
  Same<Exclude<keyof Filters, 'limit' | 'offset'>, keyof Parameters>,
];
type F = {
  event: typeof eventFields;
  client: typeof clientFields;
  project: typeof projectFields;
  task: typeof taskFields;
  subtask: typeof subtaskFields;
  user: typeof userFields;
  hook: typeof hookFields;
  key: typeof issuedKeyFields;
  delivery: typeof deliveryDetailFields;
  company: typeof companyFields;
  notification: typeof notificationFields;
};
type None = Record<never, never>;
const sameFields: {
  events: Noun<
    F['event'],
    sdk.CalendarEvent,
    sdk.EventInput,
    F['event'],
    sdk.EventChanges,
    sdk.EventFilters,
    typeof eventFilters
  >;
  clients: Noun<
    F['client'],
    sdk.Client,
    sdk.ClientInput,
    F['client'],
    sdk.ClientChanges,
    sdk.ClientFilters,
    typeof clientFilters & typeof clientOrder
  >;
  projects: Noun<
    F['project'],
    sdk.Project,
    sdk.ProjectInput,
    F['project'],
    sdk.ProjectChanges,
    sdk.ProjectFilters,
    typeof projectFilters & typeof projectOrder
  >;
  tasks: Noun<
    F['task'],
    sdk.Task,
    sdk.TaskInput,
    typeof taskChangeFields,
    sdk.TaskChanges,
    sdk.TaskFilters,
    typeof taskFilters & typeof taskOrder
  >;
  subtasks: Noun<
    F['subtask'],
    sdk.Subtask,
    sdk.SubtaskInput,
    typeof subtaskChangeFields,
    sdk.SubtaskChanges,
    sdk.SubtaskFilters,
    typeof subtaskFilters
  >;
  users: Noun<F['user'], sdk.User, sdk.UserInput, F['user'], sdk.UserChanges, None, None>;
  hooks: Noun<
    F['hook'],
    sdk.Hook,
    None,
    typeof hookInputFields,
    sdk.HookInput,
    sdk.HookFilters,
    typeof hookFilters & typeof ownerParameter
  >;
  keys: [
    ...Noun<F['key'], sdk.IssuedKey, None, typeof keyInputFields, sdk.KeyInput, sdk.KeyFilters, typeof keyFilters>,
    Same<keyof sdk.KeyChanges, WrittenOf<typeof keyChangeFields>>,
  ];
  deliveries: Noun<F['delivery'], sdk.DeliveryDetail, None, None, None, sdk.DeliveryFilters, typeof deliveryParameters>;
  company: Noun<F['company'], sdk.Company, None, None, None, None, None>;
  notifications: Noun<
    F['notification'],
    sdk.Notification,
    None,
    None,
    None,
    Omit<sdk.NotificationFilters, 'after' | 'wait'>,
    typeof notificationParameters
  >;
} = {
  events: [true, true, true, true],
  clients: [true, true, true, true],
  projects: [true, true, true, true],
  tasks: [true, true, true, true],
  subtasks: [true, true, true, true],
  users: [true, true, true, true],
  hooks: [true, true, true, true],
  keys: [true, true, true, true, true],
  deliveries: [true, true, true, true],
  company: [true, true, true, true],
  notifications: [true, true, true, true],
};

test('the SDK says in types what the server says in tables', () => {
  assert.ok(Object.values(sameWords).every((same) => same));
  assert.ok(Object.values(sameFields).every((noun) => noun.every((same) => same)));
});

test('C6 the codes of the SDK are those of the table of problems', () => {
  assert.deepEqual([...sdk.serviceCodes].sort(), Object.keys(problems).sort());
  const both = sdk.clientCodes.filter((code) => Object.hasOwn(problems, code));
  assert.deepEqual(both, []);
});

test('C11 the kinds of the SDK are those that a hook can name: the seven', () => {
  assert.deepEqual([...sdk.kinds].sort(), [...hookKinds].sort());
  assert.equal(sdk.kinds.length, 7);
});

/** How each method of the SDK is called, by its name, for those nouns that are not created below a parent. */
const calls: Readonly<Record<string, readonly unknown[]>> = {
  list: [{}],
  follow: [{}],
  each: [{}],
  get: ['1'],
  create: [{}],
  update: ['1', {}],
  delete: ['1'],
  revoke: ['1'],
  complete: ['1'],
  resume: ['1'],
  restore: ['1'],
  test: ['1'],
  redeliver: ['1'],
};

test('the methods of the SDK reach every route, and nothing that is none', async () => {
  const asked = new Set<string>();
  const client = new sdk.Carillon({
    baseUrl: 'http://127.0.0.1',
    auth: sdk.apiKey({ domain: 'acme.test', key: 'key' }),
    fetch: async (url, { method }) => {
      asked.add(`${method} ${new URL(url).pathname.replace(/\/1(?=\/|$)/g, '/{}')}`);
      return Response.json({ id: '1', data: [], paging: { offset: 0, limit: 1000, total_records: 0 } });
    },
  });
  for (const [noun, methods] of Object.entries(client)) {
    for (const [name, method] of Object.entries(methods as Record<string, (...given: unknown[]) => unknown>)) {
      const below = name === 'create' && ['tasks', 'subtasks'].includes(noun);
      const given = below ? ['1', {}] : calls[name];
      assert.ok(given !== undefined, `${noun}.${name} is new: say in \`calls\` how it is called`);
      // What the answer is like is another matter: a list stands for everything here.
      const answer = method(...given);
      await Promise.resolve(isGenerator(answer) ? answer.next() : answer).catch(() => undefined);
    }
  }
  const rows = allRoutes({
    guard: { judge: async () => ({ failure: 'no_such_name' }) },
    chance: systemChance,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  assert.deepEqual([...asked].sort(), rows.map(({ method, path }) => `${method} /v2${shapeOf(path)}`).sort());
});

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
