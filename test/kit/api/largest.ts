import { type RecordResourceType, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import type { ExportedRow } from '../../../src/transfer/exported-tables.ts';
import { apiRoutes } from './routes.ts';

/** A character that has one byte in UTF-8 and six bytes in JSON, which is the largest ratio. */
const ESCAPED_CHARACTER = '\u0001';

/** Returns the text of this length whose JSON is the largest. */
export const largestText = (characterCount: number) => ESCAPED_CHARACTER.repeat(characterCount);

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
const createRows = (count: number, firstId: number, createRow: (id: number) => ExportedRow): readonly ExportedRow[] =>
  Array.from({ length: count }, (_, index) => createRow(firstId + index));

/** Creates `count` rows of a resource, with every text at its maximum length. */
function createRecords(
  resourceType: RecordResourceType,
  count: number,
  { accountId, userId, first }: FillContext,
  extraColumns: ExportedRow = {},
): readonly ExportedRow[] {
  const { collection, key } = resourceTypes[resourceType];
  const creationRoute = apiRoutes.find(
    ({ method, path }) => method === 'POST' && path.split('/')[1] === collection.slice(1),
  );
  const properties = Object.entries(
    (creationRoute?.bodySchema?.properties ?? {}) as Readonly<Record<string, ExportedRow>>,
  );
  const texts = properties.flatMap(([name, schema]) => {
    const { max } = (schema['x-text'] ?? {}) as { max?: number };
    return max === undefined ? [] : [[name, largestText(max)]];
  });
  const commonColumns = {
    account_id: accountId,
    user_id: userId,
    date_created: 1,
    ...Object.fromEntries(texts),
    ...extraColumns,
  };
  return createRows(count, first, (id) => ({ ...commonColumns, [key]: id }));
}

/** Number of records that exceed the byte limit of a page, so that the list is split into several pages. */
const MULTI_PAGE_COUNT = 100;

/** Creates the maximum number of users and teams, and assigns all of them to each of `count` records. */
function createMaximumAssignments(
  resourceType: RecordResourceType,
  { accountId: account_id, userId: user_id, first }: FillContext,
  count: number,
): TableRows {
  const nameColumns = { first_name: largestText(100), last_name: largestText(100), role: 'member' };
  const users = createRows(MAX_ASSIGNED, first, (id) => ({
    account_id,
    user_id: id,
    email: `${id}@acme.test`,
    ...nameColumns,
  }));
  const teams = createRows(MAX_ASSIGNED, first, (id) => ({
    account_id,
    user_id,
    team_id: id,
    team_name: largestText(255),
  }));
  const recordRows = createRows(count, first, (id) => ({ record_id: id }));
  const createAssignments = (name: string) =>
    recordRows.flatMap((record) =>
      createRows(MAX_ASSIGNED, first, (id) => ({ account_id, resource_type: resourceType, ...record, [name]: id })),
    );
  if (resourceType === 'team')
    return [
      ['users', users],
      ['assignments', createAssignments('user_id')],
    ];
  return [
    ['users', users],
    ['teams', teams],
    ['assignments', createAssignments('user_id')],
    ['team_assignments', createAssignments('team_id')],
  ];
}

/** Number of records with the maximum of assignments or replies. Two of them already reach the byte limit of a page. */
const LARGE_RECORD_COUNT = 4;

const projectRows = (context: FillContext): readonly ExportedRow[] => [
  { account_id: context.accountId, project_id: context.first, project_name: largestText(255), user_id: context.userId },
];
const taskRows = (context: FillContext): TableRows => [
  ['projects', projectRows(context)],
  [
    'tasks',
    [
      {
        account_id: context.accountId,
        task_id: context.first,
        project_id: context.first,
        task_name: largestText(255),
        user_id: context.userId,
      },
    ],
  ],
];
const hookRow = ({ accountId, userId }: FillContext, id: number): ExportedRow => ({
  ...{ account_id: accountId, user_id: userId, hook_id: id, kind: 'new_event', last_outcome: 'no_such_name' },
  target: `https://${'x'.repeat(200)}.test/${'é'.repeat(1_800)}`,
});

/** Functions that create rows to fill a list with records of maximum size, by the path of the list. */
export const rowCreatorsByPath: Readonly<Record<string, (context: FillContext) => TableRows>> = {
  '/calendars': (context) => [
    [
      'calendars',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{
          account_id: context.accountId,
          user_id: context.userId,
          calendar_id: id,
          token_hash: `${id}`,
          scope: 'own',
        },
        label: largestText(255),
      })),
    ],
  ],
  '/clients': (context) => [['clients', createRecords('client', MULTI_PAGE_COUNT, context)]],
  '/comments': (context) => [
    ['projects', projectRows(context)],
    ['comments', createRecords('comment', LARGE_RECORD_COUNT, context, { project_id: context.first })],
    [
      'comments',
      createRecords('comment', LARGE_RECORD_COUNT * MAX_REPLIES, context, { project_id: context.first }).map(
        (row, index) => ({
          ...row,
          comment_id: context.first + LARGE_RECORD_COUNT + index,
          parent_id: context.first + (index % LARGE_RECORD_COUNT),
        }),
      ),
    ],
  ],
  '/contacts': (context) => [['contacts', createRecords('contact', MAX_PAGE_SIZE, context)]],
  '/deliveries': (context) => [
    ['hooks', [hookRow(context, context.first)]],
    [
      'finalized_deliveries',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{
          account_id: context.accountId,
          user_id: context.userId,
          hook_id: context.first,
          delivery_id: id,
          position: id,
        },
        ...{ kind: 'new_event', record_id: id, state: 'delivered', created_at: context.now, finalized_at: context.now },
      })),
    ],
  ],
  '/events': (context) => [
    [
      'events',
      createRecords('event', MAX_PAGE_SIZE, context, {
        start_date: '2027-01-01 00:00:00',
        due_date: '2027-01-01 00:00:00',
      }),
    ],
  ],
  '/hooks': (context) => [['hooks', createRows(MAX_PAGE_SIZE, context.first, (id) => hookRow(context, id))]],
  '/hours': (context) => [['hooks', createRows(MAX_PAGE_SIZE, context.first, (id) => hookRow(context, id))]],
  '/invitations': (context) => [
    [
      'invitations',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{ account_id: context.accountId, invitation_id: id, user_id: context.userId, made_by: context.userId },
        ...{ token_hash: `${id}`, date_created: context.now, expires_at: context.now + 3_600_000 },
      })),
    ],
  ],
  '/keys': (context) => [
    [
      'api_keys',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{
          account_id: context.accountId,
          user_id: context.userId,
          key_id: id,
          key_hash: `${id}`,
          label: largestText(255),
        },
        permissions: 'clients:read,clients:write,events:read,events:write',
      })),
    ],
  ],
  '/projects': (context) => [
    ['projects', createRecords('project', MULTI_PAGE_COUNT, context)],
    ...createMaximumAssignments('project', context, LARGE_RECORD_COUNT),
  ],
  '/sessions': (context) => [
    [
      'sessions',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{ account_id: context.accountId, user_id: context.userId, session_id: id, token_hash: `${id}` },
        ...{ date_created: context.now, last_used: context.now, expires_at: context.now + 3_600_000 },
        ...{ agent: largestText(255), source: '2001:db8::1' },
      })),
    ],
  ],
  '/subtasks': (context) => [
    ...taskRows(context),
    ['subtasks', createRecords('subtask', MULTI_PAGE_COUNT, context, { task_id: context.first })],
    ...createMaximumAssignments('subtask', context, LARGE_RECORD_COUNT),
  ],
  '/tasks': (context) => [
    ['projects', projectRows(context)],
    ['tasks', createRecords('task', MULTI_PAGE_COUNT, context, { project_id: context.first })],
    ...createMaximumAssignments('task', context, LARGE_RECORD_COUNT),
  ],
  '/teams': (context) => [
    ['teams', createRecords('team', MAX_PAGE_SIZE, context)],
    ...createMaximumAssignments('team', context, LARGE_RECORD_COUNT),
  ],
  '/time_entries': (context) => [
    ...taskRows(context),
    [
      'time_entries',
      createRecords('time_entry', MULTI_PAGE_COUNT, context, { task_id: context.first, date: '2027-01-01 00:00:00' }),
    ],
  ],
  '/users': (context) => [
    [
      'users',
      createRows(MAX_PAGE_SIZE, context.first, (id) => ({
        ...{ account_id: context.accountId, user_id: id, role: 'member', email: `${largestText(240)}${id}@x` },
        ...{ first_name: largestText(100), last_name: largestText(100) },
      })),
    ],
  ],
};

/** Whether a route returns a list. */
export const isList = ({ responseSchema }: Route): boolean =>
  Object.hasOwn((responseSchema.properties ?? {}) as object, 'paging');
