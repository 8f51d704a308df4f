import { sql } from 'kysely';
import { falling, number, rising, text } from '../order.ts';
import { recordsOf } from '../records.ts';
import { mustBeInOrder } from '../spans.ts';
import { PROJECT_SECONDS } from '../tracked.ts';
import { revokeCalendars } from '../ways-in.ts';
import { projectFields, projectFilters } from './schema.ts';

export const projects = recordsOf('project', {
  fields: projectFields,
  filters: projectFilters,
  orders: {
    says: 'projectname and duedate ascending, progress, billablehours and latest descending; else by id.',
    by: {
      projectname: rising(text('fold(projects.project_name)')),
      // A project without a due date is shown with zeros, and sorts so.
      duedate: rising(text("coalesce(projects.due_date, '')")),
      progress: falling(number('projects.progress')),
      billablehours: falling(number(PROJECT_SECONDS)),
      latest: falling(number('projects.date_created')),
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
  check: mustBeInOrder,
  removing: (write, projectId) => revokeCalendars(write, { projectId }, 'its project was deleted'),
});
