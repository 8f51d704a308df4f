import { sql } from 'kysely';
import {
  active,
  assigned,
  assignedTeams,
  calendarTimeOrNone,
  constant,
  currency,
  decimal,
  fixedPrice,
  flag,
  hoursOf,
  integer,
  key,
  longText,
  name,
  order,
  readOnlyNumber,
  readOnlyText,
  resourceIdOrNone,
  shortText,
  tags,
} from '../../http/fields/field-types.ts';
import { revokeCalendars } from '../auth/revoke-access.ts';
import { defineResource } from '../core/define-resource.ts';
import {
  condition,
  dateFrom,
  dateTo,
  idFilter,
  tagIn,
  timestampFrom,
  timestampTo,
  wordFilter,
} from '../core/filters.ts';
import { recurring } from '../core/recurrence.ts';
import { resourceRoutes } from '../core/resource-routes.ts';
import { asc, desc, number, text } from '../core/sorting.ts';
import { requireDateOrder, stamps } from '../core/timestamps.ts';
import { PROJECT_SECONDS } from '../core/tracked-seconds.ts';

/** Fields of a project (C30). */
export const projectFields = {
  project_id: key('Identifier of the project.'),
  project_name: name('Name of the project.'),
  uri: shortText('Its URL elsewhere.', 2_048),
  description: longText('Description.'),
  color: shortText('Colour.', 32),
  tags: tags('Tags, separated by commas.'),
  notes: longText('Notes.'),
  start_date: calendarTimeOrNone('First day.'),
  due_date: calendarTimeOrNone('Last day.'),
  ongoing: flag('Whether it has no end date.'),
  client_id: resourceIdOrNone('The client of the project.'),
  client_name: readOnlyText('The name of that client.'),
  currency: currency('Currency of its amounts.'),
  billable_hours: hoursOf('tracked_seconds', 'Hours worked on its tasks, as a number.'),
  tracked_seconds: readOnlyNumber('Seconds worked on its tasks: the sum of their time entries.'),
  estimated_hours: decimal('Estimated hours.'),
  hourly_rate: decimal('Rate for one hour.'),
  fixed_price: fixedPrice('Whether it has a fixed price.'),
  price: decimal('Price.'),
  project_order: order('Its position among the projects.'),
  public: flag('Whether it may be shown to the client.'),
  active: active(),
  important: flag('Whether it is important.'),
  closed: flag('Whether it is closed.'),
  archived: flag('Whether it is archived.'),
  progress: integer('Progress in percent.', 100),
  notifications: flag('Stored for existing clients; it has no effect.'),
  recurring: recurring('Its recurrence; a closed project is not repeated.'),
  template: constant('Always "0": there are no templates.', '0'),
  ...stamps,
  users: assigned('The assigned users.'),
  teams: assignedTeams('The assigned teams.'),
};

export const projectFilters = {
  client_id: idFilter('For this client; 0 for projects without one.', 'projects.client_id'),
  due_from: dateFrom('Due on this day or later.', 'projects.due_date'),
  due_to: dateTo('Due on this day or earlier.', 'projects.due_date'),
  created_from: timestampFrom('Created on this day (UTC) or later.', 'projects.date_created'),
  created_to: timestampTo('Created on this day (UTC) or earlier.', 'projects.date_created'),
  tag: tagIn('With this tag.', 'projects.tags'),
  status: wordFilter('open leaves out closed and archived; there are no templates.', {
    open: condition('projects.closed = 0 and projects.archived = 0'),
    closed: condition('projects.closed = 1'),
    templates: condition('1 = 0'),
    archived: condition('projects.archived = 1'),
  }),
};

export const projects = defineResource('project', {
  fields: projectFields,
  filters: projectFilters,
  orders: {
    descriptions: 'projectname and duedate ascending, progress, billablehours and latest descending; else by id.',
    by: {
      projectname: asc(text('fold(projects.project_name)')),
      // The response shows a due date of zeros for a project without one. Such projects are sorted accordingly, before
      // all others.
      duedate: asc(text("coalesce(projects.due_date, '')")),
      progress: desc(number('projects.progress')),
      billablehours: desc(number(PROJECT_SECONDS)),
      latest: desc(number('projects.date_created')),
    },
  },
  shown: (view) =>
    view
      .selectFrom('projects')
      .leftJoin('clients', (join) =>
        join
          .onRef('clients.account_id', '=', 'projects.account_id')
          .onRef('clients.client_id', '=', 'projects.client_id'),
      )
      .selectAll('projects')
      .select('clients.client_name')
      .select(sql.raw<number>(PROJECT_SECONDS).as('tracked_seconds')),
  check: requireDateOrder,
  removing: (write, projectId) => revokeCalendars(write, { projectId }, 'its project was deleted'),
});

export const projectRoutes = resourceRoutes(projects, {
  list: 'Lists projects.',
  create: 'Creates a project.',
  one: 'Returns a project.',
  change: 'Changes the given fields of a project.',
  remove:
    'Deletes a project with its tasks, their subtasks and time entries, and all comments on them; its events stay, with project "0".',
});
