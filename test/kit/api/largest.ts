import { type RecordResourceType, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import type { ExportedRow } from '../../../src/transfer/exported-tables.ts';
import { apiRoutes } from './routes.ts';

/** A character that has one byte in UTF-8 and six bytes in JSON, which is the largest ratio. */
const ESCAPED_CHARACTER = '\u0001';

/** Returns the text of this length whose JSON is the largest. */
export const largestText = (characters: number) => ESCAPED_CHARACTER.repeat(characters);

/** The account, creator and first id of generated records. */
export type FillContext = {
  readonly accountId: number;
  readonly userId: number;
  readonly now: number;
  /** First id of the records. It is far from issued ids and from the ids of other calls. */
  readonly first: number;
};

/** Rows that fill a list, by table. */
type TableRows = readonly (readonly [table: AccountTable, rows: readonly ExportedRow[]])[];

/** Maximum number of records per page. */
const MAX_PAGE_SIZE = 1_000;
/** Maximum number of users, and of teams, that are assigned to one record. */
const MAX_ASSIGNED = 1_000;
/** Maximum number of replies to one comment. */
const MAX_REPLIES = 1_000;

/** Creates rows with consecutive ids, starting with `firstId`. */
const createRows = (count: number, first: number, row: (id: number) => ExportedRow): readonly ExportedRow[] =>
  Array.from({ length: count }, (_, turn) => row(first + turn));

/** Creates `count` rows of a resource, with every text at its maximum length. */
function createRecords(
  resourceType: RecordResourceType,
  count: number,
  { accountId, userId, first }: FillContext,
  extraColumns: ExportedRow = {},
): readonly ExportedRow[] {
  const { collection, key } = resourceTypes[resourceType];
  const create = apiRoutes.find(({ method, path }) => method === 'POST' && path.split('/')[1] === collection.slice(1));
  const properties = Object.entries((create?.body?.properties ?? {}) as Readonly<Record<string, ExportedRow>>);
  const texts = properties.flatMap(([name, schema]) => {
    const { max } = (schema['x-text'] ?? {}) as { max?: number };
    return max === undefined ? [] : [[name, largestText(max)]];
  });
  const own = {
    account_id: accountId,
    user_id: userId,
    date_created: 1,
    ...Object.fromEntries(texts),
    ...extraColumns,
  };
  return createRows(count, first, (id) => ({ ...own, [key]: id }));
}

/** Number of records that exceed the byte limit of a page, so that the list is split into several pages. */
const MULTI_PAGE_COUNT = 100;

/** Creates the maximum number of users and teams, and assigns all of them to each of `count` records. */
function maximumAssignments(
  resourceType: RecordResourceType,
  { accountId: account_id, userId: user_id, first }: FillContext,
  count: number,
): TableRows {
  const names = { first_name: largestText(100), last_name: largestText(100), role: 'member' };
  const users = createRows(MAX_ASSIGNED, first, (id) => ({
    account_id,
    user_id: id,
    email: `${id}@acme.test`,
    ...names,
  }));
  const teams = createRows(MAX_ASSIGNED, first, (id) => ({
    account_id,
    user_id,
    team_id: id,
    team_name: largestText(255),
  }));
  const all = createRows(count, first, (id) => ({ record_id: id }));
  const each = (name: string) =>
    all.flatMap((record) =>
      createRows(MAX_ASSIGNED, first, (id) => ({ account_id, resource_type: resourceType, ...record, [name]: id })),
    );
  if (resourceType === 'team')
    return [
      ['users', users],
      ['assignments', each('user_id')],
    ];
  return [
    ['users', users],
    ['teams', teams],
    ['assignments', each('user_id')],
    ['team_assignments', each('team_id')],
  ];
}

/** Number of records with the maximum of assignments or replies. Two of them already reach the byte limit of a page. */
const LARGE_RECORD_COUNT = 4;

const projectRows = (place: FillContext): readonly ExportedRow[] => [
  { account_id: place.accountId, project_id: place.first, project_name: largestText(255), user_id: place.userId },
];
const taskRows = (place: FillContext): TableRows => [
  ['projects', projectRows(place)],
  [
    'tasks',
    [
      {
        account_id: place.accountId,
        task_id: place.first,
        project_id: place.first,
        task_name: largestText(255),
        user_id: place.userId,
      },
    ],
  ],
];
const hookRow = ({ accountId, userId }: FillContext, id: number): ExportedRow => ({
  ...{ account_id: accountId, user_id: userId, hook_id: id, kind: 'new_event', last_outcome: 'no_such_name' },
  target: `https://${'x'.repeat(200)}.test/${'é'.repeat(1_800)}`,
});

/** Functions that create rows to fill a list with records of maximum size, by the path of the list. */
export const listFillings: Readonly<Record<string, (place: FillContext) => TableRows>> = {
  '/calendars': (place) => [
    [
      'calendars',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, calendar_id: id, token_hash: `${id}`, scope: 'own' },
        label: largestText(255),
      })),
    ],
  ],
  '/clients': (place) => [['clients', createRecords('client', MULTI_PAGE_COUNT, place)]],
  '/comments': (place) => [
    ['projects', projectRows(place)],
    ['comments', createRecords('comment', LARGE_RECORD_COUNT, place, { project_id: place.first })],
    [
      'comments',
      createRecords('comment', LARGE_RECORD_COUNT * MAX_REPLIES, place, { project_id: place.first }).map(
        (row, turn) => ({
          ...row,
          comment_id: place.first + LARGE_RECORD_COUNT + turn,
          parent_id: place.first + (turn % LARGE_RECORD_COUNT),
        }),
      ),
    ],
  ],
  '/contacts': (place) => [['contacts', createRecords('contact', MAX_PAGE_SIZE, place)]],
  '/deliveries': (place) => [
    ['hooks', [hookRow(place, place.first)]],
    [
      'finalized_deliveries',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, hook_id: place.first, delivery_id: id, position: id },
        ...{ kind: 'new_event', record_id: id, state: 'delivered', created_at: place.now, finalized_at: place.now },
      })),
    ],
  ],
  '/events': (place) => [
    [
      'events',
      createRecords('event', MAX_PAGE_SIZE, place, {
        start_date: '2027-01-01 00:00:00',
        due_date: '2027-01-01 00:00:00',
      }),
    ],
  ],
  '/hooks': (place) => [['hooks', createRows(MAX_PAGE_SIZE, place.first, (id) => hookRow(place, id))]],
  '/hours': (place) => [['hooks', createRows(MAX_PAGE_SIZE, place.first, (id) => hookRow(place, id))]],
  '/invitations': (place) => [
    [
      'invitations',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{ account_id: place.accountId, invitation_id: id, user_id: place.userId, made_by: place.userId },
        ...{ token_hash: `${id}`, date_created: place.now, expires_at: place.now + 3_600_000 },
      })),
    ],
  ],
  '/keys': (place) => [
    [
      'api_keys',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{
          account_id: place.accountId,
          user_id: place.userId,
          key_id: id,
          key_hash: `${id}`,
          label: largestText(255),
        },
        permissions: 'clients:read,clients:write,events:read,events:write',
      })),
    ],
  ],
  '/projects': (place) => [
    ['projects', createRecords('project', MULTI_PAGE_COUNT, place)],
    ...maximumAssignments('project', place, LARGE_RECORD_COUNT),
  ],
  '/sessions': (place) => [
    [
      'sessions',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, session_id: id, token_hash: `${id}` },
        ...{ date_created: place.now, last_used: place.now, expires_at: place.now + 3_600_000 },
        ...{ agent: largestText(255), source: '2001:db8::1' },
      })),
    ],
  ],
  '/subtasks': (place) => [
    ...taskRows(place),
    ['subtasks', createRecords('subtask', MULTI_PAGE_COUNT, place, { task_id: place.first })],
    ...maximumAssignments('subtask', place, LARGE_RECORD_COUNT),
  ],
  '/tasks': (place) => [
    ['projects', projectRows(place)],
    ['tasks', createRecords('task', MULTI_PAGE_COUNT, place, { project_id: place.first })],
    ...maximumAssignments('task', place, LARGE_RECORD_COUNT),
  ],
  '/teams': (place) => [
    ['teams', createRecords('team', MAX_PAGE_SIZE, place)],
    ...maximumAssignments('team', place, LARGE_RECORD_COUNT),
  ],
  '/time_entries': (place) => [
    ...taskRows(place),
    [
      'time_entries',
      createRecords('time_entry', MULTI_PAGE_COUNT, place, { task_id: place.first, date: '2027-01-01 00:00:00' }),
    ],
  ],
  '/users': (place) => [
    [
      'users',
      createRows(MAX_PAGE_SIZE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: id, role: 'member', email: `${largestText(240)}${id}@x` },
        ...{ first_name: largestText(100), last_name: largestText(100) },
      })),
    ],
  ],
};

/** Whether a route returns a list. */
export const isList = ({ responseSchema }: Route): boolean =>
  Object.hasOwn((responseSchema.properties ?? {}) as object, 'paging');
