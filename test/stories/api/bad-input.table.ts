// Lists the values that each field accepts, by the meaning of the field, written by hand from the contract. Every other
// value must be rejected. The product's schemas are under test, so nothing here is derived from them.

const nestedLists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const nestedObjects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** Texts that every text field of up to 255 characters accepts. */
const texts = {
  text: '"text"',
  'no number': '"Infinity"',
  'null as text': '"null"',
  'one as text': '"1"',
  'digits as text': '"7"',
  'minus one as text': '"-1"',
  'a fraction as text': '"1.5"',
  'an id beyond 2^53': '"9007199254740992"',
  'a day that is none': '"20260230"',
  'a day': '"20270601"',
  'a time': '"2027-06-01 10:00:00"',
  'a time that is none': '"2027-06-01 24:00:00"',
  'no date': '"0000-00-00 00:00:00"',
  'a duration': '"30d"',
  'an e-mail': '"new-{n}@acme.test"',
  'a currency': '"EUR"',
  'a role': '"member"',
  'a kind': '"new_task"',
  'a target': '"http://127.0.0.1:9/{n}"',
} as const;

/** Texts with terminal escapes or bidirectional controls: valid in long texts, but not in labels and addresses. */
const controlTexts = {
  'a terminal escape': '"a\\u001b[2Jb"',
  'a second line': '"a\\nb"',
  'a C1 sequence': '"a\\u009b31mb"',
  'a line separator': '"a\\u2028b"',
  'a turned text': '"a\\u202eb"',
} as const;

/**
 * Every value that is tried in every field, as JSON. `{n}` is replaced by a new number each time, `{user}` by a
 * user id.
 */
export const values = {
  ...texts,
  ...controlTexts,
  'an e-mail with an escape': '"a\\u001b[2J-{n}@acme.test"',
  'an e-mail with a C1 sequence': '"a-{n}@acme\\u009b31m.test"',
  'an e-mail that is turned': '"a\\u202e-{n}@acme.test"',
  'a target with a lone surrogate': '"http://127.0.0.1:9/{n}\\ud800"',
  'a target with NUL': '"http://127.0.0.1:9/{n}\\u0000"',
  'a target that is turned': '"http://127.0.0.1:9/{n}\\u202e"',
  empty: '""',
  blanks: '"  \\t "',
  'too long': `"${'x'.repeat(20_001)}"`,
  NUL: '"a\\u0000b"',
  'a lone surrogate': '"a\\ud800b"',
  null: 'null',
  true: 'true',
  false: 'false',
  zero: '0',
  one: '1',
  two: '2',
  seven: '7',
  'minus one': '-1',
  'a fraction': '1.5',
  'a tiny number': '1e-7',
  'a huge number': '1e308',
  'a number beyond all': '1e999',
  object: '{}',
  'an object with an id': '{"user_id":"{user}"}',
  list: '[]',
  'a list of users': '["{user}",{"user_id":"{user}"}]',
  'a list of unknown users': '["7"]',
  'a list of permissions': '["events:read"]',
  'a list of text': '["text"]',
  'a list of null': '[null]',
  'a list of no ids': '[{"user_id":null},-1,"01"]',
  'lists 10,000 deep': nestedLists(10_000),
  'objects 5,000 deep': nestedObjects(5_000),
} as const;

export type ValueName = keyof typeof values;

/**
 * The values that a field accepts. `unknownIds` are valid ids of no record, with the response 404. All other values get
 * a 400 that names the field.
 */
export type Meaning = { readonly accepts: readonly ValueName[]; readonly unknownIds?: readonly ValueName[] };

const plainText = Object.keys(texts) as (keyof typeof texts)[];
const anyText = [
  ...plainText,
  ...(Object.keys(controlTexts) as (keyof typeof controlTexts)[]),
  ...(['an e-mail with an escape', 'an e-mail with a C1 sequence', 'an e-mail that is turned'] as const),
  'a target that is turned',
] as const;
const integers = ['zero', 'one', 'two', 'seven', 'one as text', 'digits as text'] as const;
const longDigits = ['a day', 'a day that is none'] as const;
const ids = ['one', 'two', 'seven', 'one as text', 'digits as text', ...longDigits] as const;

export const meanings = {
  name: { accepts: anyText },
  text: { accepts: [...anyText, 'empty', 'blanks'] },
  label: { accepts: [...plainText, 'empty'] },
  email: { accepts: ['an e-mail'] },
  'email or none': { accepts: ['an e-mail', 'empty'] },
  currency: { accepts: ['a currency', 'empty'] },
  date: { accepts: ['a day', 'a time'] },
  'date or none': { accepts: ['a day', 'a time', 'no date', 'empty', 'null'] },
  'day or none': { accepts: ['a day', 'no date', 'empty', 'null'] },
  flag: { accepts: ['zero', 'one', 'one as text', 'true', 'false'] },
  active: { accepts: ['zero', 'one', 'two', 'one as text', 'true', 'false'] },
  percent: { accepts: integers },
  overlap: { accepts: integers },
  order: { accepts: [...integers, ...longDigits] },
  seconds: { accepts: [...integers, ...longDigits, 'a fraction', 'a fraction as text', 'a tiny number'] },
  recurring: { accepts: ['empty', 'zero', 'null', 'false'] },
  'flag or amount': {
    accepts: [...integers, ...longDigits, 'a fraction', 'a fraction as text', 'empty', 'true', 'false'],
  },
  amount: { accepts: [...integers, ...longDigits, 'a fraction', 'a fraction as text', 'empty'] },
  id: { accepts: [], unknownIds: [...ids, 'zero'] },
  'id or none': { accepts: ['zero', 'empty', 'null'], unknownIds: ids },
  users: { accepts: ['list', 'a list of users'], unknownIds: ['a list of unknown users'] },
  teams: { accepts: ['list'], unknownIds: ['a list of unknown users'] },
  role: { accepts: ['a role'] },
  // The order matters: each update can only narrow the permissions of the key.
  permissions: { accepts: ['a list of permissions', 'list'] },
  expiry: { accepts: ['a duration', 'a time', 'empty', 'null'] },
  calendar: { accepts: [] },
  zone: { accepts: ['empty'] },
  scope: { accepts: [] },
  'no project': { accepts: ['zero', 'empty', 'null'] },
  kind: { accepts: ['a kind'] },
  // A list of kinds is tested with the hooks of a team.
  kinds: { accepts: [] },
  headers: { accepts: ['object', 'an object with an id'] },
  // The order matters: in the end the hook is enabled.
  enabled: { accepts: ['zero', 'false', 'one', 'one as text', 'true'] },
  target: { accepts: ['a target'] },
} as const satisfies Record<string, Meaning>;

type FieldMeanings = Readonly<Record<string, keyof typeof meanings>>;

const dateFields = { start_date: 'date or none', due_date: 'date or none' } as const;
const sharedFields = {
  description: 'text',
  color: 'text',
  notes: 'text',
  users: 'users',
  teams: 'teams',
  user_id: 'id or none',
} as const;
const client: FieldMeanings = {
  ...{ client_name: 'name', email: 'email or none', tel: 'text', fax: 'text', mobile: 'text', website: 'text' },
  ...{ address: 'text', city: 'text', state: 'text', country: 'text', notes: 'text', background: 'text' },
  ...{ postcode: 'text', active: 'active', user_id: 'id or none' },
};
const contact: FieldMeanings = {
  ...{ contact_name: 'name', email: 'email or none', tel: 'text', fax: 'text', mobile: 'text', role: 'text' },
  ...{ company_name: 'text', client_id: 'id or none', user_id: 'id or none' },
};
const project: FieldMeanings = {
  ...{ ...dateFields, ...sharedFields, project_name: 'name', uri: 'text', tags: 'text', client_id: 'id or none' },
  ...{ currency: 'currency', hourly_rate: 'amount', price: 'amount', fixed_price: 'flag or amount', active: 'active' },
  ...{ ongoing: 'flag', public: 'flag', important: 'flag', closed: 'flag', archived: 'flag', progress: 'percent' },
  ...{ estimated_hours: 'amount', project_order: 'order', notifications: 'flag', recurring: 'recurring' },
};
const stepFields: FieldMeanings = {
  ...{ ...dateFields, ...sharedFields, ongoing: 'flag', active: 'active', important: 'flag', completed: 'flag' },
  ...{ progress: 'percent', recurring: 'recurring', notifications: 'flag', estimated_hours: 'amount' },
};
const task: FieldMeanings = {
  ...{ ...stepFields, task_name: 'name', tags: 'text', task_order: 'order', archived: 'flag' },
  ...{ estimated_cost: 'amount', hourly_rate: 'amount', price: 'amount', fixed_price: 'flag or amount' },
};
const subtask: FieldMeanings = { ...stepFields, subtask_name: 'name', subtask_order: 'order' };
const event: FieldMeanings = {
  ...{ event_name: 'name', start_date: 'date', due_date: 'date', project_id: 'id or none', user_id: 'id or none' },
};
const entry: FieldMeanings = {
  ...{ date: 'day or none', date_started: 'date or none', date_stopped: 'date or none', subtask_id: 'id or none' },
  ...{ seconds: 'seconds', description: 'text', billed: 'flag', user_id: 'id or none' },
};
const user: FieldMeanings = { email: 'email', first_name: 'text', last_name: 'text', role: 'role' };

const hook: FieldMeanings = {
  ...{ target_url: 'target', event: 'kind', events: 'kinds', scope: 'scope', project_id: 'no project' },
  ...{ name: 'label', enabled: 'enabled', headers: 'headers' },
};

const EVENT = { event_name: 'E', start_date: '20270101', due_date: '20991231' };

/** Every route with a body: the meaning of each field, and the required fields with valid values. */
export const bodies: Readonly<
  Record<string, { fields: FieldMeanings; requiredFields: Readonly<Record<string, string>> }>
> = {
  'POST /events': { fields: event, requiredFields: EVENT },
  'PUT /events/{event_id}': { fields: event, requiredFields: {} },
  'POST /events/import': {
    fields: {
      ics: 'calendar',
      project_id: 'id or none',
      time_zone: 'zone',
      default_time_zone: 'zone',
      silent: 'flag',
      again: 'flag',
    },
    requiredFields: { ics: 'BEGIN:VCALENDAR\nEND:VCALENDAR\n' },
  },
  'POST /calendars': {
    fields: { label: 'label', scope: 'scope', project_id: 'no project', time_zone: 'zone' },
    requiredFields: {},
  },
  'POST /hooks': {
    fields: hook,
    requiredFields: { target_url: 'http://127.0.0.1:9/{n}', event: 'new_event' },
  },
  'PUT /hooks/{hook_id}': { fields: hook, requiredFields: {} },
  'POST /hooks/{hook_id}/replay': {
    fields: { from: 'date', to: 'date' },
    requiredFields: { from: '20270101', to: '20991231' },
  },
  'POST /hooks/{hook_id}/secret': { fields: { overlap: 'overlap' }, requiredFields: {} },
  'POST /clients': { fields: client, requiredFields: { client_name: 'C' } },
  'PUT /clients/{client_id}': { fields: client, requiredFields: {} },
  'POST /contacts': { fields: contact, requiredFields: { contact_name: 'C' } },
  'PUT /contacts/{contact_id}': { fields: contact, requiredFields: {} },
  'POST /projects': { fields: project, requiredFields: { project_name: 'P' } },
  'PUT /projects/{project_id}': { fields: project, requiredFields: {} },
  'POST /tasks/{project_id}': { fields: task, requiredFields: { task_name: 'T' } },
  'PUT /tasks/{task_id}': { fields: { ...task, project_id: 'id', resume: 'flag' }, requiredFields: {} },
  'POST /subtasks/{task_id}': { fields: subtask, requiredFields: { subtask_name: 'S' } },
  'PUT /subtasks/{subtask_id}': { fields: { ...subtask, task_id: 'id', resume: 'flag' }, requiredFields: {} },
  'POST /users': { fields: user, requiredFields: { email: 'new-{n}@acme.test' } },
  'PUT /users/{user_id}': { fields: user, requiredFields: {} },
  'POST /teams': { fields: { team_name: 'name', color: 'text', users: 'users' }, requiredFields: { team_name: 'T' } },
  'PUT /teams/{team_id}': { fields: { team_name: 'name', color: 'text', users: 'users' }, requiredFields: {} },
  'POST /time_entries/{task_id}': { fields: entry, requiredFields: { seconds: '60' } },
  'PUT /time_entries/{entry_id}': { fields: { ...entry, task_id: 'id' }, requiredFields: {} },
  'PUT /time_entry/{entry_id}': { fields: { ...entry, task_id: 'id' }, requiredFields: {} },
  'POST /comments/{project_id}': {
    fields: {
      comment: 'name',
      parent_id: 'id or none',
      task_id: 'id or none',
      subtask_id: 'id or none',
      user_id: 'id or none',
    },
    requiredFields: { comment: 'C' },
  },
  'POST /keys': {
    fields: { label: 'label', permissions: 'permissions', user_id: 'id or none', expires: 'expiry' },
    requiredFields: {},
  },
  'PUT /keys/{key_id}': { fields: { label: 'label', permissions: 'permissions' }, requiredFields: {} },
};
