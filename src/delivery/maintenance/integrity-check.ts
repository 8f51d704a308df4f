import { sql } from 'kysely';
import type { Queries } from '../../store/store.ts';
import {
  type OccurrenceKind,
  occurrenceKinds,
  type RecordResourceType,
  recordResourceTypes,
  resourceTypeOf,
  resourceTypes,
  tableNameOf,
} from '../outbox/event-kinds.ts';

const kindsOf = (resourceType: RecordResourceType) =>
  occurrenceKinds.filter((kind) => resourceTypeOf(kind) === resourceType);
const isDeletionKind = (kind: OccurrenceKind) => kind.startsWith('deleted_');

/**
 * Counts the occurrences whose record is missing although no occurrence of its deletion exists. A change and its
 * occurrence are written in one transaction (C16, C20), so any count other than 0 means that the database is damaged.
 */
export async function countMissingRecords(queries: Queries): Promise<number> {
  let missingCount = 0;
  const kindsResult = await sql<{ kind: OccurrenceKind }>`select distinct kind from occurrences`.execute(queries);
  const seenKinds = new Set(kindsResult.rows.map(({ kind }) => kind));
  // Only resource types that occur are checked: a database of an older version lacks the tables of newer types.
  const seenResourceTypes = recordResourceTypes.filter((resourceType) =>
    kindsOf(resourceType).some((kind) => seenKinds.has(kind)),
  );
  for (const resourceType of seenResourceTypes) {
    const nonDeletionKinds = kindsOf(resourceType).filter((kind) => !isDeletionKind(kind));
    const deletionKinds = kindsOf(resourceType).filter(isDeletionKind);
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from occurrences where kind in (${sql.join(nonDeletionKinds)})
        and not exists (select 1 from ${sql.table(tableNameOf(resourceType))} as records
          where records.${sql.ref(resourceTypes[resourceType].key)} = occurrences.record_id)
        and record_id not in (select record_id from occurrences where kind in (${sql.join(deletionKinds)}))`.execute(
      queries,
    );
    missingCount += rows[0]?.count ?? 0;
  }
  return missingCount;
}
