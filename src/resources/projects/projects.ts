import { sql } from 'kysely';
import { calendarTimeOrNone, requireDateOrder } from '../../http/fields/dates.ts';
import { ownRecordId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import {
  constant,
  currency,
  decimal,
  flag,
  integer,
  longText,
  readOnlyDigits,
  readOnlyText,
  requiredName,
  shortText,
  tags,
} from '../../http/fields/scalar-fields.ts';
import { revokeCalendars } from '../auth/revoke-access.ts';
import { defineResource } from '../core/define-resource.ts';
import {
  activeState,
  assignedTeams,
  assignedUsers,
  commonFields,
  fixedPrice,
  hoursFromSeconds,
  sortPosition,
} from '../core/domain-fields.ts';
import {
  dateFromFilter,
  dateUpToFilter,
  enumFilter,
  idFilter,
  sqlCondition,
  tagFilter,
  timestampFromFilter,
  timestampUpToFilter,
} from '../core/filters.ts';
import { recurrenceField } from '../core/recurring-tasks.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { ascendingBy, descendingBy, numberKey, textKey } from '../core/sorting.ts';
import { PROJECT_TRACKED_SECONDS_SQL } from '../core/tracked-seconds.ts';

/** Fields of a project (C30). */
export const projectFields = {
  project_id: ownRecordId('Identifier of the project.'),
  project_name: requiredName('Name of the project.'),
  uri: shortText('Its URL elsewhere.', 2_048),
  description: longText('Description.'),
  color: shortText('Colour.', 32),
  tags: tags('Tags, separated by commas.'),
  notes: longText('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  ongoing: flag('Whether it has no end date.'),
  client_id: recordIdOrNone('The client of the project.'),
  client_name: readOnlyText('The name of that client.'),
  currency: currency('Currency of its amounts.'),
  billable_hours: hoursFromSeconds('tracked_seconds', 'Hours worked on its tasks, as a number.'),
  tracked_seconds: readOnlyDigits('Seconds worked on its tasks: the sum of their time entries.'),
  estimated_hours: decimal('Estimated hours.'),
  hourly_rate: decimal('Rate for one hour.'),
  fixed_price: fixedPrice('Whether it has a fixed price.'),
  price: decimal('Price of the project, in its currency.'),
  project_order: sortPosition('Its position among the projects.'),
  public: flag('Whether it may be shown to the client.'),
  active: activeState(),
  important: flag('Whether it is important.'),
  closed: flag('Whether it is closed.'),
  archived: flag('Whether it is archived.'),
  progress: integer('Progress in percent.', 100),
  notifications: flag('Stored for existing clients; it has no effect.'),
  recurring: recurrenceField('Its recurrence; a closed project is not repeated.'),
  template: constant('Always "0": there are no templates.', '0'),
  ...commonFields,
  users: assignedUsers('The assigned users.'),
  teams: assignedTeams('The assigned teams.'),
};

const projectFilters = {
  client_id: idFilter('For this client; 0 for projects without one.', 'projects.client_id'),
  due_from: dateFromFilter('Due on this day or later.', 'projects.due_date'),
  due_to: dateUpToFilter('Due on this day or earlier.', 'projects.due_date'),
  created_from: timestampFromFilter('Created on this day (UTC) or later.', 'projects.date_created'),
  created_to: timestampUpToFilter('Created on this day (UTC) or earlier.', 'projects.date_created'),
  tag: tagFilter('With this tag.', 'projects.tags'),
  status: enumFilter('open leaves out closed and archived; there are no templates.', {
    open: sqlCondition('projects.closed = 0 and projects.archived = 0'),
    closed: sqlCondition('projects.closed = 1'),
    templates: sqlCondition('1 = 0'),
    archived: sqlCondition('projects.archived = 1'),
  }),
};

export const projects = defineResource('project', {
  fields: projectFields,
  filters: projectFilters,
  orders: {
    description: 'projectname and duedate ascending, progress, billablehours and latest descending; else by id.',
    byName: {
      projectname: ascendingBy(textKey('fold(projects.project_name)')),
      // Projects without a due date are sorted first, because responses show their due date as zeros.
      duedate: ascendingBy(textKey("coalesce(projects.due_date, '')")),
      progress: descendingBy(numberKey('projects.progress')),
      billablehours: descendingBy(numberKey(PROJECT_TRACKED_SECONDS_SQL)),
      latest: descendingBy(numberKey('projects.date_created')),
    },
  },
  select: (view) =>
    view
      .selectFrom('projects')
      .leftJoin('clients', (join) =>
        join
          .onRef('clients.account_id', '=', 'projects.account_id')
          .onRef('clients.client_id', '=', 'projects.client_id'),
      )
      .selectAll('projects')
      .select('clients.client_name')
      .select(sql.raw<number>(PROJECT_TRACKED_SECONDS_SQL).as('tracked_seconds')),
  requireConsistency: requireDateOrder,
  beforeRemove: (write, projectId) => revokeCalendars(write, { projectId }, 'its project was deleted'),
});

export const projectRoutes = createResourceRoutes(projects, {
  list: 'Lists projects.',
  create: 'Creates a project.',
  get: 'Returns a project.',
  change: 'Changes the given fields of a project.',
  remove:
    'Deletes a project with its tasks, their subtasks and time entries, and all comments on them; its events stay, with project "0".',
});
