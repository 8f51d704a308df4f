import { type NewOccurrence, recordOccurrences } from '../../delivery/outbox/record-occurrences.ts';
import { type CreationInput, findChangedFields } from '../../http/fields/field.ts';
import type { ParsedEvent } from '../../ical/series.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { requireRecord } from '../core/references.ts';
import { eventFields } from '../events/events.ts';
import type { importInputFields } from './schema.ts';

export type ImportCounts = { created: number; changed: number; unchanged: number; deleted: number };

/** An entry of an earlier import: its event, the hash of its contents, and whether the event still exists. */
type ImportedEntry = { readonly eventId: number; readonly contentHash: string; readonly eventExists: boolean };

export async function importBatch(
  write: AccountWrite,
  caller: Caller,
  events: readonly ParsedEvent[],
  { project_id, silent, again }: CreationInput<typeof importInputFields>,
): Promise<ImportCounts> {
  if (project_id !== 0) await requireRecord(write, 'project', project_id);
  const importedEntriesByEntryHash = await findImportedEntries(write, events);
  const isDeleted = (event: ParsedEvent) => importedEntriesByEntryHash.get(event.entryHash)?.eventExists === false;
  const isNew = (event: ParsedEvent) =>
    !importedEntriesByEntryHash.has(event.entryHash) || (again === 1 && isDeleted(event));
  const createdIds = await createEvents(write, caller, events.filter(isNew), project_id);
  const existingEvents = events.filter((event) => !isNew(event) && !isDeleted(event));
  const differingEvents = existingEvents.filter(
    (event) => importedEntriesByEntryHash.get(event.entryHash)?.contentHash !== event.contentHash,
  );
  const changes = await changeEvents(write, differingEvents, importedEntriesByEntryHash);
  const common = { userId: caller.userId, isSilent: silent === 1 };
  // Followers of the feed know from earlier versions that a silent import records creations as changed_event.
  const creationKind = silent === 1 ? 'changed_event' : 'new_event';
  recordOccurrences(write, [
    ...createdIds.map(
      (recordId): NewOccurrence => ({ ...common, kind: creationKind, recordId, projectId: project_id }),
    ),
    ...changes.map((change): NewOccurrence => ({ ...common, ...change, kind: 'changed_event' })),
  ]);
  return {
    created: createdIds.length,
    changed: changes.length,
    unchanged: existingEvents.length - changes.length,
    deleted: events.length - createdIds.length - existingEvents.length,
  };
}

async function findImportedEntries(
  view: AccountView,
  events: readonly ParsedEvent[],
): Promise<ReadonlyMap<string, ImportedEntry>> {
  const entryHashes = events.map(({ entryHash }) => entryHash);
  const rows = await view
    .selectFrom('imported_events')
    .leftJoin('events', (join) =>
      join
        .onRef('events.event_id', '=', 'imported_events.event_id')
        .onRef('events.account_id', '=', 'imported_events.account_id'),
    )
    .select(['imported_events.entry_hash', 'imported_events.event_id', 'imported_events.content_hash'])
    .select('events.event_id as existing_id')
    .where('imported_events.entry_hash', 'in', entryHashes)
    .execute();
  return new Map(
    rows.map(({ entry_hash, event_id, content_hash, existing_id }) => [
      entry_hash,
      { eventId: event_id, contentHash: content_hash, eventExists: existing_id !== null },
    ]),
  );
}

/** Creates events, and stores which entries they came from. Returns their ids in the order of `events`. */
async function createEvents(
  write: AccountWrite,
  caller: Caller,
  events: readonly ParsedEvent[],
  project_id: number,
): Promise<readonly number[]> {
  if (events.length === 0) return [];
  const commonColumns = { project_id, user_id: caller.userId, date_created: write.now, date_modified: null };
  const insertedRows = await write
    .insertInto(
      'events',
      events.map(({ event_name, start_date, due_date }) => ({ event_name, start_date, due_date, ...commonColumns })),
    )
    .returning(['event_id', 'event_name', 'start_date', 'due_date'])
    .execute();
  // The order of returned rows is undefined, so events and rows are matched by contents. Rows with equal contents are
  // interchangeable.
  const rowsByContents = Map.groupBy(insertedRows, contentsKeyOf);
  const createdEvents = events.map((event) => ({
    event,
    event_id: rowsByContents.get(contentsKeyOf(event))?.shift()?.event_id ?? 0,
  }));
  await storeImportedEntries(write, createdEvents);
  return createdEvents.map(({ event_id }) => event_id);
}

function contentsKeyOf({
  event_name,
  start_date,
  due_date,
}: Pick<ParsedEvent, 'event_name' | 'start_date' | 'due_date'>): string {
  return JSON.stringify([event_name, start_date, due_date]);
}

/** Changes events. Returns for each which record, in which project, and which of its fields has changed. */
async function changeEvents(
  write: AccountWrite,
  events: readonly ParsedEvent[],
  importedEntriesByEntryHash: ReadonlyMap<string, ImportedEntry>,
): Promise<readonly Pick<NewOccurrence, 'recordId' | 'projectId' | 'fields'>[]> {
  if (events.length === 0) return [];
  const changedEvents = events.map((event) => ({
    event,
    event_id: importedEntriesByEntryHash.get(event.entryHash)?.eventId ?? 0,
  }));
  const oldRows = await write
    .selectFrom('events')
    .selectAll('events')
    .where(
      'events.event_id',
      'in',
      changedEvents.map(({ event_id }) => event_id),
    )
    .execute();
  const oldRowsById = new Map(oldRows.map((row) => [row.event_id, row]));
  const changes: Pick<NewOccurrence, 'recordId' | 'projectId' | 'fields'>[] = [];
  for (const { event, event_id } of changedEvents) {
    const { event_name, start_date, due_date } = event;
    await write
      .updateTable('events')
      .set({ event_name, start_date, due_date, date_modified: write.now })
      .where('event_id', '=', event_id)
      .execute();
    const { project_id: projectId = 0, ...oldRow } = oldRowsById.get(event_id) ?? {};
    const fields = findChangedFields(eventFields, oldRow, { ...oldRow, event_name, start_date, due_date });
    changes.push({ recordId: event_id, projectId, fields });
  }
  await storeImportedEntries(write, changedEvents);
  return changes;
}

async function storeImportedEntries(
  write: AccountWrite,
  entries: readonly { readonly event: ParsedEvent; readonly event_id: number }[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ event, event_id }) => ({
    entry_hash: event.entryHash,
    event_id,
    content_hash: event.contentHash,
  }));
  await write
    .insertInto('imported_events', rows)
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'entry_hash']).doUpdateSet(({ ref }) => ({
        event_id: ref('excluded.event_id'),
        content_hash: ref('excluded.content_hash'),
      })),
    )
    .execute();
}
