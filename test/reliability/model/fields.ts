import { fc } from '../../kit/fast-check.ts';

/**
 * A value of a field, as it is sent and as the API displays it: a text, a reference to a record, or several users.
 * `bad` values are rejected.
 */
export type Written =
  | {
      readonly as: 'text';
      readonly sent: unknown;
      readonly displayed: string;
      /** Another field that the value also sets, and its displayed value. */
      readonly implies?: readonly [field: string, shown: string];
    }
  | { readonly as: 'reference'; readonly resourceType: ResourceType; readonly pick: number; readonly needed: boolean }
  | { readonly as: 'users'; readonly picks: readonly number[] }
  | { readonly as: 'bad'; readonly sent: unknown };

/** Fields of a creation or change, in order; the last value of a field counts. */
export type Entries = readonly (readonly [field: string, written: Written])[];

type Spec = {
  /** Displayed value if a creation leaves the field out; undefined for a required field. */
  readonly initial: string | undefined;
  readonly good: fc.Arbitrary<Written>;
  readonly bad: fc.Arbitrary<unknown>;
};

/** Resource types of the contract that the model covers. */
export const resourceTypes = ['client', 'project', 'task', 'subtask', 'event', 'user'] as const;
export type ResourceType = (typeof resourceTypes)[number];

const text = (sent: unknown, displayed = String(sent)): Written => ({ as: 'text', sent, displayed });
const texts = (...all: (readonly [unknown, string])[]) =>
  fc.constantFrom(...all.map(([sent, shown]) => text(sent, shown)));
const words = ['Bell', 'bell', 'ÄPFEL', 'äpfel', 'b%l_', "O'Neil; --", '予定 😀', 'a"b\\c'];

export const NONE = '0000-00-00 00:00:00';
export const dayOf = (day: number) => `2027-03-${String(day).padStart(2, '0')}`;

const notATime = fc.constantFrom<unknown>('20260230', '2027-03-01', 'tomorrow', 20270301, '2027-03-01 24:00:00');
const times = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom('', '09:00:00', '10:30:00', '00:00:00'))
  .map(([day, time]) =>
    time === '' ? text(dayOf(day).replaceAll('-', ''), `${dayOf(day)} 00:00:00`) : text(`${dayOf(day)} ${time}`),
  );

const flags = texts([0, '0'], [1, '1'], ['0', '0'], ['1', '1'], [false, '0'], [true, '1']);
const name: Spec = {
  initial: undefined,
  good: fc.constantFrom(...words.map((word) => text(word)), text('  Bell tower ', 'Bell tower'), text('x'.repeat(255))),
  bad: fc.constantFrom<unknown>('', '   ', 'x'.repeat(256), 5, null, 'a\0b', '\ud800'),
};
const shortText = (maxLength = 255): Spec => ({
  initial: '',
  good: fc.constantFrom(text(''), ...words.map((word) => text(word)), text('y'.repeat(maxLength))),
  bad: fc.constantFrom<unknown>('y'.repeat(maxLength + 1), 7, null, {}, 'a\0b'),
});
const longText: Spec = { ...shortText(), bad: fc.constantFrom<unknown>(7, null, [], 'a\0b') };
const flag: Spec = { initial: '0', good: flags, bad: fc.constantFrom<unknown>(2, 'yes', null, '') };
const active: Spec = {
  initial: '1',
  good: fc.oneof(flags, texts([2, '2'], ['2', '2'])),
  bad: fc.constantFrom<unknown>(3, 'on hold', null),
};
const decimal: Spec = {
  initial: '0',
  good: texts([0, '0'], [12.5, '12.5'], ['12.5', '12.5'], ['80', '80'], [999999999, '999999999'], ['0.0001', '0.0001']),
  bad: fc.constantFrom<unknown>(-1, 'much', '1.00001', 1e9, null),
};
/** A flag, or an amount that sets the flag and the field `price` (C42). */
const fixedPrice: Spec = {
  ...flag,
  good: fc.oneof(
    flags,
    fc
      .constantFrom<readonly [unknown, string]>([1000, '1000'], ['12.5000', '12.5000'], [0.25, '0.25'])
      .map(([sent, price]): Written => ({ as: 'text', sent, displayed: '1', implies: ['price', price] })),
  ),
  bad: fc.constantFrom<unknown>(-1, 1e9, '1.00001', 'yes', null),
};
const letters = ['D', 'W', 'M', 'Q', 'S', 'Y'] as const;
const recurring: Spec = {
  initial: '',
  good: texts(
    ...letters.map((letter) => [letter, letter] as const),
    ['', ''],
    [0, ''],
    ['0', ''],
    [false, ''],
    [null, ''],
  ),
  bad: fc.constantFrom<unknown>('d', 'weekly', 1, '1', true),
};
const integer = (max: number): Spec => ({
  initial: '0',
  good: texts([0, '0'], [1, '1'], ['50', '50'], [max, String(max)]),
  bad: fc.constantFrom<unknown>(-1, max + 1, 1.5, 'half', null),
});
const order = integer(9_999_999_999_999);
const tags: Spec = {
  initial: '',
  good: texts(['', ''], ['red', 'red'], ['red,blue', 'red,blue'], ['bluered', 'bluered'], [' red , blue', 'red,blue']),
  bad: fc.constantFrom<unknown>(5, null, ['red']),
};
const time: Spec = { initial: undefined, good: times, bad: fc.oneof(notATime, fc.constant<unknown>('')) };
const timeOrNone: Spec = {
  initial: NONE,
  good: fc.oneof(times, texts(['', NONE], [null, NONE], [NONE, NONE])),
  bad: notATime,
};
const email: Spec = {
  initial: '',
  good: texts(['', ''], ['a@b.test', 'a@b.test']),
  bad: fc.constantFrom<unknown>('nobody', 5, null),
};
const currency: Spec = {
  initial: '',
  good: texts(['', ''], ['CHF', 'CHF']),
  bad: fc.constantFrom<unknown>('francs', 5),
};
const refersTo = (resourceType: ResourceType, needed = false): Spec => ({
  initial: '0',
  good: fc.nat(11).map((pick): Written => ({ as: 'reference', resourceType, pick, needed })),
  bad: fc.constantFrom<unknown>('abc', -1, 1.5, true),
});
const users: Spec = {
  initial: '',
  good: fc.array(fc.nat(7), { maxLength: 3 }).map((picks): Written => ({ as: 'users', picks })),
  bad: fc.constantFrom<unknown>('1', ['abc'], [-1], [{}]),
};
const role: Spec = {
  initial: 'member',
  good: texts(['member', 'member'], ['admin', 'admin'], ['owner', 'owner']),
  bad: fc.constantFrom<unknown>('king', 1, null),
};

/** Writable fields of each resource type (C26 to C35), with their values. */
export const fields: Readonly<Record<ResourceType, Readonly<Record<string, Spec>>>> = {
  client: {
    client_name: name,
    email,
    ...{
      tel: shortText(64),
      fax: shortText(64),
      mobile: shortText(64),
      website: shortText(2_048),
      address: shortText(1_000),
      city: shortText(),
    },
    ...{
      state: shortText(),
      postcode: shortText(32),
      country: shortText(),
      notes: longText,
      background: longText,
      active,
    },
    user_id: refersTo('user'),
  },
  project: {
    project_name: name,
    ...{ uri: shortText(2_048), description: longText, color: shortText(32), tags, notes: longText },
    ...{ start_date: timeOrNone, due_date: timeOrNone, ongoing: flag, client_id: refersTo('client'), currency },
    ...{ hourly_rate: decimal, fixed_price: fixedPrice, price: decimal, public: flag, active, important: flag },
    ...{ closed: flag, archived: flag, progress: integer(100), estimated_hours: decimal, project_order: order },
    ...{ notifications: flag, recurring, user_id: refersTo('user'), users },
  },
  task: {
    task_name: name,
    ...{
      description: longText,
      color: shortText(32),
      tags,
      notes: longText,
      start_date: timeOrNone,
      due_date: timeOrNone,
    },
    ...{ ongoing: flag, estimated_hours: decimal, estimated_cost: decimal, hourly_rate: decimal },
    ...{ fixed_price: fixedPrice, price: decimal, task_order: order, active, important: flag, completed: flag },
    ...{ progress: integer(100), notifications: flag, recurring, archived: flag, user_id: refersTo('user'), users },
  },
  subtask: {
    subtask_name: name,
    ...{ description: longText, color: shortText(32), notes: longText, start_date: timeOrNone, due_date: timeOrNone },
    ...{ ongoing: flag, estimated_hours: decimal, subtask_order: order, active, important: flag },
    ...{ completed: flag, progress: integer(100), notifications: flag, recurring, user_id: refersTo('user'), users },
  },
  event: {
    event_name: name,
    ...{ start_date: time, due_date: time, project_id: refersTo('project'), user_id: refersTo('user') },
  },
  user: {
    email: {
      initial: undefined,
      good: fc.constantFrom('a@b.test', 'A@B.test', 'c@b.test', 'd@b.test').map((address) => text(address)),
      bad: fc.constantFrom<unknown>('', 'nobody', 5, null),
    },
    ...{ first_name: shortText(100), last_name: shortText(100), role },
  },
};

/** Additional fields of a change: moving a record, and reopening it (C33). */
const movable: Readonly<Partial<Record<ResourceType, Readonly<Record<string, Spec>>>>> = {
  task: { project_id: refersTo('project', true), resume: flag },
  subtask: { task_id: refersTo('task', true), resume: flag },
};

const oneIn = (times: number, rare: fc.Arbitrary<Written>, usual: fc.Arbitrary<Written>) =>
  fc.oneof({ arbitrary: usual, weight: times - 1 }, { arbitrary: rare, weight: 1 });

const written = ([field, { good, bad }]: [string, Spec]) =>
  oneIn(
    30,
    bad.map((sent): Written => ({ as: 'bad', sent })),
    good,
  ).map((value) => [field, value] as const);

/** Generates random fields of a resource type, mostly with valid values. */
export function entriesOf(resourceType: ResourceType, action: 'create' | 'change'): fc.Arbitrary<Entries> {
  const specs = { ...fields[resourceType], ...(action === 'change' ? movable[resourceType] : {}) };
  const few = fc.array(fc.oneof(...Object.entries(specs).map(written)), { maxLength: 5 });
  if (action === 'change') return few;
  const required = Object.entries(specs).filter(([, { initial }]) => initial === undefined);
  const mostly = fc.oneof({ arbitrary: fc.constant(true), weight: 19 }, { arbitrary: fc.constant(false), weight: 1 });
  return fc
    .tuple(mostly, fc.tuple(...required.map(written)), few)
    .map(([isWhole, first, rest]) => (isWhole ? [...first, ...rest] : rest));
}
