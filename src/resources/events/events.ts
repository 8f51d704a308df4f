import { calendarTime, requireDateOrder } from '../../http/fields/dates.ts';
import type { StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { requiredName } from '../../http/fields/scalar-fields.ts';
import type { Page, PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { defineResource } from '../core/define-resource.ts';
import { commonFields } from '../core/domain-fields.ts';
import {
  aliasFilter,
  buildFilterConditions,
  dateFromFilter,
  dateUpToFilter,
  idFilter,
  rejectConflictingAliases,
} from '../core/filters.ts';
import { createListFunction } from '../core/list-function.ts';
import { loadPage } from '../core/pagination.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { ascendingOrder, numberKey, textKey } from '../core/sorting.ts';
import { selectOverlappingEventIds } from './overlapping.ts';

/** Fields of a calendar event (the specification, section 2). */
export const eventFields = {
  event_id: ownRecordId('Identifier of the event.'),
  event_name: requiredName('Name of the event.'),
  start_date: calendarTime('First day.'),
  due_date: calendarTime('Last day.'),
  project_id: recordIdOrNone('The project it belongs to.'),
  ...commonFields,
};

/** Filters of the event list (C25). A filter by day includes the whole day. All filters are combined with AND. */
const eventFilters = {
  project_id: idFilter('Only events of this project; 0 for events without one.', 'events.project_id'),
  from: dateFromFilter('Starting on this day or later.', 'events.start_date'),
  to: dateUpToFilter('Due on this day or earlier.', 'events.due_date'),
  ...aliasFilter(
    'start_from',
    'start_date_from',
    dateFromFilter('Starting on this day or later.', 'events.start_date'),
  ),
  ...aliasFilter('start_to', 'start_date_to', dateUpToFilter('Starting on this day or earlier.', 'events.start_date')),
  ...aliasFilter('due_from', 'due_date_from', dateFromFilter('Due on this day or later.', 'events.due_date')),
  ...aliasFilter('due_to', 'due_date_to', dateUpToFilter('Due on this day or earlier.', 'events.due_date')),
};

type EventRow = StoredRecordOf<typeof eventFields>;

export const events = {
  ...defineResource('event', { fields: eventFields, filters: eventFilters, requireConsistency: requireDateOrder }),
  list: listEvents,
};

/** Lists events (C25). A request for events that overlap a period uses a separate index. */
async function listEvents(
  view: AccountView,
  parameterValues: ParsedParameters<typeof eventFilters>,
  paging: PageRequest,
): Promise<Page<EventRow>> {
  rejectConflictingAliases(eventFilters, parameterValues);
  const {
    start_date_to,
    start_to = start_date_to,
    due_date_from,
    due_from = due_date_from,
    ...others
  } = parameterValues;
  if (start_to !== undefined && due_from !== undefined && start_to < due_from) {
    const overlappingIdsQuery = selectOverlappingEventIds(view, {
      latestStartDay: start_to,
      earliestDueDay: due_from,
    }).as('under_way');
    const overlappingEventsQuery = view
      .selectFrom('events')
      .innerJoin(overlappingIdsQuery, 'under_way.event_id', 'events.event_id');
    return loadPage(
      overlappingEventsQuery,
      overlappingEventsQuery.selectAll('events'),
      orderByStart,
      buildFilterConditions(eventFilters, others),
      paging,
    );
  }
  const firstDay = parameterValues.from ?? parameterValues.start_from ?? parameterValues.start_date_from;
  const lastDay = parameterValues.to ?? parameterValues.due_to ?? parameterValues.due_date_to;
  return listEventsByStart(
    view,
    firstDay === undefined || lastDay === undefined ? parameterValues : { ...parameterValues, begun_by: lastDay },
    paging,
    orderByStart,
  );
}

/** Sorts by start date, and then by id to make the order total (C7). */
const orderByStart = ascendingOrder('start', textKey('events.start_date'), numberKey('events.event_id'));

const listEventsByStart = createListFunction(
  'event',
  // `begun_by` is set if the request has both a first and a last day. An event due by the last day has also begun by
  // that day, so the condition limits the scan of the index on start_date at both ends and changes no result.
  { ...eventFilters, begun_by: eventFilters.start_to },
  (view) => view.selectFrom('events').selectAll('events'),
  [],
);

export const eventRoutes = createResourceRoutes(events, {
  list: 'Lists calendar events by start date.',
  create: 'Creates a calendar event.',
  get: 'Returns a calendar event.',
  change: 'Changes the given fields of a calendar event.',
  remove: 'Deletes a calendar event.',
});
