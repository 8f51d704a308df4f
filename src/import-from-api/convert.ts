import type { FieldError } from '../problems.ts';
import { newestVersion } from '../store/migrate.ts';
import {
  type ExportedRow,
  type ExportedTable,
  exportedColumnsOf,
  exportedTables,
} from '../transfer/exported-tables.ts';
import { FORMAT_VERSION, LineWriter, TableHasher } from '../transfer/format.ts';
import type { TransferProgress } from '../transfer/progress.ts';
import { version } from '../version.ts';
import { type ResourceType, type ResourceTypeName, storedTypes } from './resource-types.ts';
import { type ConvertedRow, RowBuilder, type RowPorts } from './rows.ts';
import { JsonLinesFile, type StoredRecord, type WorkFile } from './work-file.ts';

/** Counts for one resource type. */
export type TypeCounts = {
  leftOut: number;
  /**
   * Number of rows without a record at the source: placeholders, and users who could not be imported and became deleted
   * users.
   */
  made: number;
};

export type ConversionResult = {
  readonly sha256: string;
  readonly counts: Readonly<Partial<Record<ResourceTypeName, TypeCounts>>>;
  /** Number of records that were left out. */
  readonly leftOut: number;
  /** Number of records that the import changed or created. */
  readonly changed: number;
  /** The first records that were left out, at most MAX_SKIPPED_LISTED. */
  readonly skipped: readonly LeftOutRecord[];
};

/** A record that was left out, with the reasons. */
export type LeftOutRecord = {
  readonly resource: ResourceTypeName;
  readonly id: string;
  readonly left_out: readonly FieldError[];
};

/** Maximum number of left-out records that are listed on the screen. The report lists all of them. */
const MAX_SKIPPED_LISTED = 100;

export type ConvertPorts = RowPorts & {
  readonly progress: TransferProgress;
  /** Paths of the export, the report of changed and left-out records, and the map of new ids. */
  readonly paths: { readonly file: string; readonly report: string; readonly idMap: string };
};

/**
 * Writes the records as an export file, like `carillon export`. Records that cannot be imported are left out and listed
 * in the report.
 */
export function convertRecords(ports: ConvertPorts): ConversionResult {
  const conversion = new Conversion(ports);
  try {
    return conversion.run();
  } finally {
    conversion.close();
  }
}

class Conversion {
  readonly #ports: ConvertPorts;
  readonly #rowBuilder: RowBuilder;
  readonly #writer = new LineWriter();
  readonly #file: JsonLinesFile;
  readonly #report: JsonLinesFile;
  readonly #idMap: JsonLinesFile;
  readonly #counts: Partial<Record<ResourceTypeName, TypeCounts>> = {};
  readonly #skipped: LeftOutRecord[] = [];
  #leftOut = 0;
  #changed = 0;

  constructor(ports: ConvertPorts) {
    this.#ports = ports;
    this.#rowBuilder = new RowBuilder(ports);
    this.#file = new JsonLinesFile(ports.paths.file);
    this.#report = new JsonLinesFile(ports.paths.report);
    this.#idMap = new JsonLinesFile(ports.paths.idMap);
  }

  run(): ConversionResult {
    const { work, progress } = this.#ports;
    progress.begin('validating the records', work.count('select count(*) from records'));
    this.#writeHeader();
    for (const table of exportedTables) {
      const tallier = new TableHasher();
      const resourceType = storedTypes.find((candidate) => candidate.table === table);
      if (resourceType !== undefined) this.#writeResourceType(resourceType, tallier);
      else this.#writeOtherTable(table, tallier);
      this.#writer.close(table, tallier);
    }
    const { line, end } = this.#writer.end();
    this.#file.text(line);
    progress.end();
    const numbers = { counts: this.#counts, changed: this.#changed, leftOut: this.#leftOut };
    return { sha256: end.sha256, ...numbers, skipped: this.#skipped };
  }

  close(): void {
    for (const lines of [this.#file, this.#report, this.#idMap]) lines.close();
  }

  #writeHeader(): void {
    const { work, domain, now } = this.#ports;
    const exported_at = new Date(now).toISOString();
    const issued = Object.fromEntries(storedTypes.map(({ name, table }) => [table, highestId(work, name)]));
    this.#file.text(
      this.#writer.header({ carillon: FORMAT_VERSION, schema: newestVersion(), version, exported_at, domain, issued }),
    );
  }

  #writeResourceType(resourceType: ResourceType & { table: ExportedTable }, tallier: TableHasher): void {
    const { work, plan, progress } = this.#ports;
    const count: TypeCounts = { leftOut: 0, made: 0 };
    this.#counts[resourceType.name] = count;
    this.#reportWithoutId(resourceType, count);
    for (const page of work.pages(resourceType.name)) {
      const rows = work.inTransaction(() => page.flatMap((record) => this.#convertRecord(resourceType, record, count)));
      this.#write(resourceType.table, rows, tallier);
      if (plan.numbering[resourceType.name]?.kept === false)
        for (const { id, new_id } of page)
          this.#idMap.add({ resource: resourceType.name, old: id, new: String(new_id) });
      progress.advance(page.length);
    }
  }

  /** Reports records without an id. They are left out, because they cannot be identified. */
  #reportWithoutId({ name, id: field }: ResourceType, count: TypeCounts): void {
    const rows = this.#ports.work.all(`select json from records where noun = ? and origin = 'nameless'`, name);
    for (const { json } of rows)
      this.#leaveOut(name, { id: '', json: String(json) }, [{ field, message: 'is missing' }], count);
  }

  #convertRecord(resourceType: ResourceType, record: StoredRecord, count: TypeCounts): readonly ConvertedRow['row'][] {
    const made = this.#rowBuilder.buildRow(resourceType, record);
    if ('faults' in made) this.#leaveOut(resourceType.name, record, made.faults, count);
    const { row, changes } = ('faults' in made ? made.instead : made) ?? {};
    if (row === undefined) {
      this.#ports.work.run('update records set is_left = 1 where noun = ? and id = ?', resourceType.name, record.id);
      return [];
    }
    if ('faults' in made || record.origin === 'made') count.made += 1;
    this.#reportChanges(resourceType.name, record, changes ?? []);
    return [row];
  }

  #leaveOut(
    resourceType: ResourceTypeName,
    { id, json }: Pick<StoredRecord, 'id' | 'json'>,
    left_out: readonly FieldError[],
    count: TypeCounts,
  ): void {
    count.leftOut += 1;
    this.#leftOut += 1;
    if (this.#skipped.length < MAX_SKIPPED_LISTED) this.#skipped.push({ resource: resourceType, id, left_out });
    this.#report.add({ resource: resourceType, id, left_out, record: JSON.parse(json) });
  }

  #reportChanges(resourceType: ResourceTypeName, { id, origin }: StoredRecord, changes: ConvertedRow['changes']): void {
    // For a record that the import created, only differences from the source are reported as changes. The account
    // always exists, so it is not reported as created.
    const isPlaceholder = origin === 'made' && resourceType !== 'company';
    const changed = origin === 'made' ? changes.filter(({ was }) => was !== undefined) : changes;
    if (!isPlaceholder && changed.length === 0) return;
    this.#changed += 1;
    this.#report.add({
      resource: resourceType,
      id,
      ...(isPlaceholder && { made: 'the source does not list it' }),
      changed,
    });
  }

  #writeOtherTable(table: ExportedTable, tallier: TableHasher): void {
    const { accountId: account_id } = this.#ports.plan;
    if (table === 'positions')
      this.#write(table, [{ account_id, position: 0, occurred_at: 0, epoch_start: 0 }], tallier);
    if (table !== 'assignments') return;
    for (const page of this.#ports.work.assignments())
      this.#write(
        table,
        page.map((row) => ({ account_id, ...row })),
        tallier,
      );
  }

  #write(table: ExportedTable, rows: readonly ConvertedRow['row'][], tallier: TableHasher): void {
    const columns = exportedColumnsOf(table);
    const ordered = rows.map(
      (row) => Object.fromEntries(columns.map((column) => [column, row[column]])) as ExportedRow,
    );
    this.#file.text(this.#writer.rows(table, ordered, tallier));
  }
}

function highestId(work: WorkFile, resourceType: ResourceTypeName): number {
  return work.count('select max(new_id) from records where noun = ?', resourceType);
}
