import { type RecordResourceType, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import type { Row } from '../../../src/transfer/exported-tables.ts';
import { apiRoutes } from './routes.ts';

/** A character that has one byte in UTF-8 and six bytes in JSON, which is the largest ratio. */
const ESCAPED = '\u0001';

/** Returns the text of this length whose JSON is the largest. */
export const largest = (characters: number) => ESCAPED.repeat(characters);

/** The account, creator and first id of generated records. */
export type FillContext = {
  readonly accountId: number;
  readonly userId: number;
  readonly now: number;
  /** First id of the records. It is far from issued ids and from the ids of other calls. */
  readonly first: number;
};

/** Rows that fill a list, by table. */
type Filling = readonly (readonly [table: AccountTable, rows: readonly Row[]])[];

/** Maximum number of records per page. */
const PAGE = 1_000;
/** Maximum number of users, and of teams, that are assigned to one record. */
const MAX_ASSIGNED = 1_000;
const MAX_REPLIES = 1_000;

const many = (count: number, first: number, row: (id: number) => Row): readonly Row[] =>
  Array.from({ length: count }, (_, turn) => row(first + turn));

/** Creates `count` rows of a resource, with every text at its maximum length. */
function records(
  resourceType: RecordResourceType,
  count: number,
  { accountId, userId, first }: FillContext,
  more: Row = {},
): readonly Row[] {
  const { collection, key } = resourceTypes[resourceType];
  const create = apiRoutes.find(({ method, path }) => method === 'POST' && path.split('/')[1] === collection.slice(1));
  const properties = Object.entries((create?.body?.properties ?? {}) as Readonly<Record<string, Row>>);
  const texts = properties.flatMap(([name, schema]) => {
    const { max } = (schema['x-text'] ?? {}) as { max?: number };
    return max === undefined ? [] : [[name, largest(max)]];
  });
  const own = { account_id: accountId, user_id: userId, date_created: 1, ...Object.fromEntries(texts), ...more };
  return many(count, first, (id) => ({ ...own, [key]: id }));
}

/** Number of records that exceed the byte limit of a page, so that the list is split into several pages. */
const SEVERAL = 100;

/** Creates the maximum number of users and teams, and assigns all of them to each of `count` records. */
function assigned(
  resourceType: RecordResourceType,
  { accountId: account_id, userId: user_id, first }: FillContext,
  count: number,
): Filling {
  const names = { first_name: largest(100), last_name: largest(100), role: 'member' };
  const users = many(MAX_ASSIGNED, first, (id) => ({ account_id, user_id: id, email: `${id}@acme.test`, ...names }));
  const teams = many(MAX_ASSIGNED, first, (id) => ({ account_id, user_id, team_id: id, team_name: largest(255) }));
  const all = many(count, first, (id) => ({ record_id: id }));
  const each = (name: string) =>
    all.flatMap((record) => many(MAX_ASSIGNED, first, (id) => ({ account_id, resourceType, ...record, [name]: id })));
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
const FEW = 4;

const project = (place: FillContext): readonly Row[] => [
  { account_id: place.accountId, project_id: place.first, project_name: largest(255), user_id: place.userId },
];
const task = (place: FillContext): Filling => [
  ['projects', project(place)],
  [
    'tasks',
    [
      {
        account_id: place.accountId,
        task_id: place.first,
        project_id: place.first,
        task_name: largest(255),
        user_id: place.userId,
      },
    ],
  ],
];
const hook = ({ accountId, userId }: FillContext, id: number): Row => ({
  ...{ account_id: accountId, user_id: userId, hook_id: id, kind: 'new_event', last_outcome: 'no_such_name' },
  target: `https://${'x'.repeat(200)}.test/${'é'.repeat(1_800)}`,
});

/** Functions that create rows to fill a list with records of maximum size, by the path of the list. */
export const fillings: Readonly<Record<string, (place: FillContext) => Filling>> = {
  '/calendars': (place) => [
    [
      'calendars',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, calendar_id: id, token_hash: `${id}`, scope: 'own' },
        label: largest(255),
      })),
    ],
  ],
  '/clients': (place) => [['clients', records('client', SEVERAL, place)]],
  '/comments': (place) => [
    ['projects', project(place)],
    ['comments', records('comment', FEW, place, { project_id: place.first })],
    [
      'comments',
      records('comment', FEW * MAX_REPLIES, place, { project_id: place.first }).map((row, turn) => ({
        ...row,
        comment_id: place.first + FEW + turn,
        parent_id: place.first + (turn % FEW),
      })),
    ],
  ],
  '/contacts': (place) => [['contacts', records('contact', PAGE, place)]],
  '/deliveries': (place) => [
    ['hooks', [hook(place, place.first)]],
    [
      'finalized_deliveries',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, hook_id: place.first, delivery_id: id, position: id },
        ...{ kind: 'new_event', record_id: id, state: 'delivered', created_at: place.now, finalized_at: place.now },
      })),
    ],
  ],
  '/events': (place) => [
    ['events', records('event', PAGE, place, { start_date: '2027-01-01 00:00:00', due_date: '2027-01-01 00:00:00' })],
  ],
  '/hooks': (place) => [['hooks', many(PAGE, place.first, (id) => hook(place, id))]],
  '/hours': (place) => [['hooks', many(PAGE, place.first, (id) => hook(place, id))]],
  '/invitations': (place) => [
    [
      'invitations',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, invitation_id: id, user_id: place.userId, made_by: place.userId },
        ...{ token_hash: `${id}`, date_created: place.now, expires_at: place.now + 3_600_000 },
      })),
    ],
  ],
  '/keys': (place) => [
    [
      'api_keys',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, key_id: id, key_hash: `${id}`, label: largest(255) },
        permissions: 'clients:read,clients:write,events:read,events:write',
      })),
    ],
  ],
  '/projects': (place) => [['projects', records('project', SEVERAL, place)], ...assigned('project', place, FEW)],
  '/sessions': (place) => [
    [
      'sessions',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: place.userId, session_id: id, token_hash: `${id}` },
        ...{ date_created: place.now, last_used: place.now, expires_at: place.now + 3_600_000 },
        ...{ agent: largest(255), source: '2001:db8::1' },
      })),
    ],
  ],
  '/subtasks': (place) => [
    ...task(place),
    ['subtasks', records('subtask', SEVERAL, place, { task_id: place.first })],
    ...assigned('subtask', place, FEW),
  ],
  '/tasks': (place) => [
    ['projects', project(place)],
    ['tasks', records('task', SEVERAL, place, { project_id: place.first })],
    ...assigned('task', place, FEW),
  ],
  '/teams': (place) => [['teams', records('team', PAGE, place)], ...assigned('team', place, FEW)],
  '/time_entries': (place) => [
    ...task(place),
    ['time_entries', records('time_entry', SEVERAL, place, { task_id: place.first, date: '2027-01-01 00:00:00' })],
  ],
  '/users': (place) => [
    [
      'users',
      many(PAGE, place.first, (id) => ({
        ...{ account_id: place.accountId, user_id: id, role: 'member', email: `${largest(240)}${id}@x` },
        ...{ first_name: largest(100), last_name: largest(100) },
      })),
    ],
  ],
};

/** Whether a route returns a list. */
export const isList = ({ answer }: Route): boolean => Object.hasOwn((answer.properties ?? {}) as object, 'paging');
