import type { Caller } from '../../access.ts';
import { record } from '../../delivery/record.ts';
import type { Changed, Created, Shown } from '../../http/fields.ts';
import type { Page, Paging } from '../../http/paging.ts';
import type { Given } from '../../http/query.ts';
import { notFound } from '../../problems.ts';
import { AccountView, type AccountWrite } from '../../store/account.ts';
import { conditionsOf, mustAgree } from '../filters.ts';
import { ascending, number, text } from '../order.ts';
import { filtered, pageOf } from '../pages.ts';
import { creatorFor } from '../people.ts';
import { mustBeProject } from '../projects/actions.ts';
import { mustBeInOrder } from '../spans.ts';
import type { eventFields, eventFilters } from './schema.ts';
import { eventFilters as filters } from './schema.ts';
import { underWay } from './under-way.ts';

type EventRow = Shown<typeof eventFields>;

/** C25. */
export async function listEvents(
  view: AccountView,
  given: Given<typeof eventFilters>,
  paging: Paging,
): Promise<Page<EventRow>> {
  mustAgree(filters, given);
  const { start_date_to, start_to = start_date_to, due_date_from, due_from = due_date_from, ...others } = given;
  if (start_to !== undefined && due_from !== undefined && start_to < due_from) {
    const found = underWay(view, { startTo: start_to, dueFrom: due_from }).as('under_way');
    const bare = view.selectFrom('events').innerJoin(found, 'under_way.event_id', 'events.event_id');
    return pageOf(bare, bare.selectAll('events'), byStart, conditionsOf(filters, others), paging);
  }
  const first = given.from ?? given.start_from ?? given.start_date_from;
  const last = given.to ?? given.due_to ?? given.due_date_to;
  return list(view, first === undefined || last === undefined ? given : { ...given, begun_by: last }, paging, byStart);
}

/** An event that begins earlier comes earlier; the id makes it total (C7). */
const byStart = ascending('start', text('events.start_date'), number('events.event_id'));

const list = filtered(
  'event',
  // What is due by a day has begun by then: with a first day, the list is a stretch of those in the order of their begin.
  { ...filters, begun_by: filters.start_to },
  (view) => view.selectFrom('events').selectAll('events'),
);

const findEvent = AccountView.prepared(
  (view, { eventId }: { eventId: number }) =>
    view.selectFrom('events').selectAll('events').where('events.event_id', '=', eventId),
  'together',
);

export async function getEvent(view: AccountView, eventId: number): Promise<EventRow> {
  const [row] = await findEvent(view, { eventId });
  if (row === undefined) throw notFound();
  return row;
}

/** C26. */
export async function createEvent(
  write: AccountWrite,
  caller: Caller,
  input: Created<typeof eventFields>,
): Promise<EventRow> {
  mustBeInOrder(input);
  const user_id = await creatorFor(write, caller, input.user_id, caller.userId);
  await mustBeProject(write, input.project_id);
  const row = await write.insertRow('events', { ...input, user_id, date_created: write.now, date_modified: null });
  record(write, [{ kind: 'new_event', recordId: row.event_id, userId: user_id }]);
  return row;
}

/** C27: the result is checked as a whole. */
export async function changeEvent(
  write: AccountWrite,
  caller: Caller,
  eventId: number,
  input: Changed<typeof eventFields>,
): Promise<EventRow> {
  // Asked together with the event itself; what is wrong is said in the usual order.
  const project = input.project_id === undefined ? undefined : mustBeProject(write, input.project_id);
  project?.catch(() => undefined);
  const before = await getEvent(write, eventId);
  mustBeInOrder(input, before);
  const user_id = await creatorFor(write, caller, input.user_id ?? 0, before.user_id);
  await project;
  const row = await write
    .updateTable('events')
    .set({ ...input, user_id, date_modified: write.now })
    .where('event_id', '=', eventId)
    .returningAll()
    .executeTakeFirstOrThrow();
  record(write, [{ kind: 'changed_event', recordId: eventId, userId: caller.userId }]);
  return row;
}

/** C28. */
export async function deleteEvent(write: AccountWrite, caller: Caller, eventId: number): Promise<void> {
  const { numDeletedRows } = await write.deleteFrom('events').where('event_id', '=', eventId).executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw notFound();
  record(write, [{ kind: 'deleted_event', recordId: eventId, userId: caller.userId }]);
}
