import { sql } from 'kysely';
import type { Queries } from '../../store/store.ts';
import {
  type Kind,
  kinds,
  type RecordResourceType,
  recordResourceTypes,
  resourceTypes,
  tableOf,
} from '../outbox/event-kinds.ts';

/** The kinds that say that a record is there, by its noun, and the one that says that it is gone. */
const kindsOf = (resourceType: RecordResourceType) =>
  (Object.keys(kinds) as Kind[]).filter((kind) => kinds[kind].resourceType === resourceType);
const isGone = (kind: Kind) => kind.startsWith('deleted_');

/**
 * How many occurrences tell of a record that is neither there nor said to be deleted: 0, since a change and its
 * occurrence are one transaction (C16, C20). Anything else is a damaged database.
 */
export async function countMissing(queries: Queries): Promise<number> {
  let missing = 0;
  const occurred = await sql<{ kind: Kind }>`select distinct kind from occurrences`.execute(queries);
  const kindsSeen = new Set(occurred.rows.map(({ kind }) => kind));
  // An older database has no table of a noun that is newer than it.
  const resourceTypesSeen = recordResourceTypes.filter((resourceType) =>
    kindsOf(resourceType).some((kind) => kindsSeen.has(kind)),
  );
  for (const noun of resourceTypesSeen) {
    const there = kindsOf(noun).filter((kind) => !isGone(kind));
    const gone = kindsOf(noun).filter(isGone);
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from occurrences where kind in (${sql.join(there)})
        and not exists (select 1 from ${sql.table(tableOf(noun))} as records
          where records.${sql.ref(resourceTypes[noun].key)} = occurrences.record_id)
        and record_id not in (select record_id from occurrences where kind in (${sql.join(gone)}))`.execute(queries);
    missing += rows[0]?.count ?? 0;
  }
  return missing;
}
