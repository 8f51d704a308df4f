import { fc } from '../../kit/packages.ts';

/**
 * A value of a field, as it is sent and as the API displays it: a text, a reference to a record, or several users.
 * `bad` values are rejected.
 */
export type FieldValue =
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
export type FieldEntries = readonly (readonly [field: string, written: FieldValue])[];

type FieldSpec = {
  /** Displayed value if a creation leaves the field out; undefined for a required field. */
  readonly initial: string | undefined;
  readonly good: fc.Arbitrary<FieldValue>;
  readonly bad: fc.Arbitrary<unknown>;
};

/** Resource types of the contract that the model covers. */
export const resourceTypes = ['client', 'project', 'task', 'subtask', 'event', 'user'] as const;
export type ResourceType = (typeof resourceTypes)[number];

const text = (sent: unknown, displayed = String(sent)): FieldValue => ({ as: 'text', sent, displayed });
const oneOfTexts = (...all: (readonly [unknown, string])[]) =>
  fc.constantFrom(...all.map(([sent, shown]) => text(sent, shown)));
const words = ['Bell', 'bell', 'ÄPFEL', 'äpfel', 'b%l_', "O'Neil; --", '予定 😀', 'a"b\\c'];

export const NO_DATE = '0000-00-00 00:00:00';
export const dayOf = (day: number) => `2027-03-${String(day).padStart(2, '0')}`;

const invalidTimes = fc.constantFrom<unknown>('20260230', '2027-03-01', 'tomorrow', 20270301, '2027-03-01 24:00:00');
const times = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom('', '09:00:00', '10:30:00', '00:00:00'))
  .map(([day, time]) =>
    time === '' ? text(dayOf(day).replaceAll('-', ''), `${dayOf(day)} 00:00:00`) : text(`${dayOf(day)} ${time}`),
  );

const flags = oneOfTexts([0, '0'], [1, '1'], ['0', '0'], ['1', '1'], [false, '0'], [true, '1']);
const name: FieldSpec = {
  initial: undefined,
  good: fc.constantFrom(...words.map((word) => text(word)), text('  Bell tower ', 'Bell tower'), text('x'.repeat(255))),
  bad: fc.constantFrom<unknown>('', '   ', 'x'.repeat(256), 5, null, 'a\0b', '\ud800'),
};
const shortText = (maxLength = 255): FieldSpec => ({
  initial: '',
  good: fc.constantFrom(text(''), ...words.map((word) => text(word)), text('y'.repeat(maxLength))),
  bad: fc.constantFrom<unknown>('y'.repeat(maxLength + 1), 7, null, {}, 'a\0b'),
});
const longText: FieldSpec = { ...shortText(), bad: fc.constantFrom<unknown>(7, null, [], 'a\0b') };
const flag: FieldSpec = { initial: '0', good: flags, bad: fc.constantFrom<unknown>(2, 'yes', null, '') };
const active: FieldSpec = {
  initial: '1',
  good: fc.oneof(flags, oneOfTexts([2, '2'], ['2', '2'])),
  bad: fc.constantFrom<unknown>(3, 'on hold', null),
};
const decimal: FieldSpec = {
  initial: '0',
  good: oneOfTexts(
    [0, '0'],
    [12.5, '12.5'],
    ['12.5', '12.5'],
    ['80', '80'],
    [999999999, '999999999'],
    ['0.0001', '0.0001'],
  ),
  bad: fc.constantFrom<unknown>(-1, 'much', '1.00001', 1e9, null),
};
/** A flag, or an amount that sets the flag and the field `price` (C42). */
const fixedPrice: FieldSpec = {
  ...flag,
  good: fc.oneof(
    flags,
    fc
      .constantFrom<readonly [unknown, string]>([1000, '1000'], ['12.5000', '12.5000'], [0.25, '0.25'])
      .map(([sent, price]): FieldValue => ({ as: 'text', sent, displayed: '1', implies: ['price', price] })),
  ),
  bad: fc.constantFrom<unknown>(-1, 1e9, '1.00001', 'yes', null),
};
const letters = ['D', 'W', 'M', 'Q', 'S', 'Y'] as const;
const recurring: FieldSpec = {
  initial: '',
  good: oneOfTexts(
    ...letters.map((letter) => [letter, letter] as const),
    ['', ''],
    [0, ''],
    ['0', ''],
    [false, ''],
    [null, ''],
  ),
  bad: fc.constantFrom<unknown>('d', 'weekly', 1, '1', true),
};
const integer = (max: number): FieldSpec => ({
  initial: '0',
  good: oneOfTexts([0, '0'], [1, '1'], ['50', '50'], [max, String(max)]),
  bad: fc.constantFrom<unknown>(-1, max + 1, 1.5, 'half', null),
});
const order = integer(9_999_999_999_999);
const tags: FieldSpec = {
  initial: '',
  good: oneOfTexts(
    ['', ''],
    ['red', 'red'],
    ['red,blue', 'red,blue'],
    ['bluered', 'bluered'],
    [' red , blue', 'red,blue'],
  ),
  bad: fc.constantFrom<unknown>(5, null, ['red']),
};
const time: FieldSpec = { initial: undefined, good: times, bad: fc.oneof(invalidTimes, fc.constant<unknown>('')) };
const timeOrNone: FieldSpec = {
  initial: NO_DATE,
  good: fc.oneof(times, oneOfTexts(['', NO_DATE], [null, NO_DATE], [NO_DATE, NO_DATE])),
  bad: invalidTimes,
};
const email: FieldSpec = {
  initial: '',
  good: oneOfTexts(['', ''], ['a@b.test', 'a@b.test']),
  bad: fc.constantFrom<unknown>('nobody', 5, null),
};
const currency: FieldSpec = {
  initial: '',
  good: oneOfTexts(['', ''], ['CHF', 'CHF']),
  bad: fc.constantFrom<unknown>('francs', 5),
};
const referenceField = (resourceType: ResourceType, needed = false): FieldSpec => ({
  initial: '0',
  good: fc.nat(11).map((pick): FieldValue => ({ as: 'reference', resourceType, pick, needed })),
  bad: fc.constantFrom<unknown>('abc', -1, 1.5, true),
});
const users: FieldSpec = {
  initial: '',
  good: fc.array(fc.nat(7), { maxLength: 3 }).map((picks): FieldValue => ({ as: 'users', picks })),
  bad: fc.constantFrom<unknown>('1', ['abc'], [-1], [{}]),
};
const role: FieldSpec = {
  initial: 'member',
  good: oneOfTexts(['member', 'member'], ['admin', 'admin'], ['owner', 'owner']),
  bad: fc.constantFrom<unknown>('king', 1, null),
};

/** Writable fields of each resource type (C26 to C35), with their values. */
export const fields: Readonly<Record<ResourceType, Readonly<Record<string, FieldSpec>>>> = {
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
    user_id: referenceField('user'),
  },
  project: {
    project_name: name,
    ...{ uri: shortText(2_048), description: longText, color: shortText(32), tags, notes: longText },
    ...{ start_date: timeOrNone, due_date: timeOrNone, ongoing: flag, client_id: referenceField('client'), currency },
    ...{ hourly_rate: decimal, fixed_price: fixedPrice, price: decimal, public: flag, active, important: flag },
    ...{ closed: flag, archived: flag, progress: integer(100), estimated_hours: decimal, project_order: order },
    ...{ notifications: flag, recurring, user_id: referenceField('user'), users },
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
    ...{
      progress: integer(100),
      notifications: flag,
      recurring,
      archived: flag,
      user_id: referenceField('user'),
      users,
    },
  },
  subtask: {
    subtask_name: name,
    ...{ description: longText, color: shortText(32), notes: longText, start_date: timeOrNone, due_date: timeOrNone },
    ...{ ongoing: flag, estimated_hours: decimal, subtask_order: order, active, important: flag },
    ...{
      completed: flag,
      progress: integer(100),
      notifications: flag,
      recurring,
      user_id: referenceField('user'),
      users,
    },
  },
  event: {
    event_name: name,
    ...{ start_date: time, due_date: time, project_id: referenceField('project'), user_id: referenceField('user') },
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
const changeOnlyFields: Readonly<Partial<Record<ResourceType, Readonly<Record<string, FieldSpec>>>>> = {
  task: { project_id: referenceField('project', true), resume: flag },
  subtask: { task_id: referenceField('task', true), resume: flag },
};

const oneIn = (times: number, rare: fc.Arbitrary<FieldValue>, usual: fc.Arbitrary<FieldValue>) =>
  fc.oneof({ arbitrary: usual, weight: times - 1 }, { arbitrary: rare, weight: 1 });

const toEntry = ([field, { good, bad }]: [string, FieldSpec]) =>
  oneIn(
    30,
    bad.map((sent): FieldValue => ({ as: 'bad', sent })),
    good,
  ).map((value) => [field, value] as const);

/** Generates random fields of a resource type, mostly with valid values. */
export function generateEntries(resourceType: ResourceType, action: 'create' | 'change'): fc.Arbitrary<FieldEntries> {
  const specs = { ...fields[resourceType], ...(action === 'change' ? changeOnlyFields[resourceType] : {}) };
  const few = fc.array(fc.oneof(...Object.entries(specs).map(toEntry)), { maxLength: 5 });
  if (action === 'change') return few;
  const required = Object.entries(specs).filter(([, { initial }]) => initial === undefined);
  const mostly = fc.oneof({ arbitrary: fc.constant(true), weight: 19 }, { arbitrary: fc.constant(false), weight: 1 });
  return fc
    .tuple(mostly, fc.tuple(...required.map(toEntry)), few)
    .map(([isWhole, first, rest]) => (isWhole ? [...first, ...rest] : rest));
}
