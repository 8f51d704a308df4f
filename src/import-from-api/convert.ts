import type { FieldError } from '../problems.ts';
import { getNewestSchemaVersion } from '../store/migrate.ts';
import {
  type ExportedRow,
  type ExportedTable,
  exportedColumnsOf,
  exportedTables,
} from '../transfer/exported-tables.ts';
import { ExportSerializer, FORMAT_VERSION, TableHasher } from '../transfer/format.ts';
import type { TransferProgress } from '../transfer/operator-report.ts';
import { version } from '../version.ts';
import { JsonLinesFile } from './json-lines-file.ts';
import { type ResourceType, type ResourceTypeName, storedTypes } from './resource-types.ts';
import { type ConvertedRow, RowBuilder, type RowDeps } from './rows.ts';
import type { StoredRecord, WorkFile } from './work-file.ts';

/** Counts for one resource type. */
type TypeCounts = {
  /** Number of records that were left out. */
  leftOut: number;
  /**
   * Number of rows that the import created on its own: placeholders for missing records, and deleted users in place of
   * users who cannot be imported.
   */
  made: number;
};

export type ConversionResult = {
  /** Checksum of the export file. */
  readonly sha256: string;
  readonly counts: Readonly<Partial<Record<ResourceTypeName, TypeCounts>>>;
  /** Number of records that were left out. */
  readonly leftOut: number;
  /** Number of records that the import changed or created. */
  readonly changed: number;
  /** The first records that were left out, at most MAX_LISTED_LEFT_OUT_RECORDS. */
  readonly skipped: readonly LeftOutRecord[];
};

/** A record that was left out, with the reasons. */
type LeftOutRecord = {
  readonly resource: ResourceTypeName;
  readonly id: string;
  readonly left_out: readonly FieldError[];
};

/** Maximum number of left-out records in the output of the command. The report lists all of them. */
const MAX_LISTED_LEFT_OUT_RECORDS = 100;

type ConvertDeps = RowDeps & {
  readonly progress: TransferProgress;
  /** Paths of the export file, of the report of changed and left-out records, and of the map of old ids to new ids. */
  readonly paths: { readonly exportFile: string; readonly report: string; readonly idMap: string };
};

/**
 * Writes the records as an export file, like `carillon export`. Records that cannot be imported are left out and listed
 * in the report.
 */
export function convertRecords(deps: ConvertDeps): ConversionResult {
  const conversion = new Conversion(deps);
  try {
    return conversion.convertAll();
  } finally {
    conversion.close();
  }
}

class Conversion {
  readonly #deps: ConvertDeps;
  readonly #rowBuilder: RowBuilder;
  readonly #serializer = new ExportSerializer();
  readonly #exportFile: JsonLinesFile;
  readonly #reportFile: JsonLinesFile;
  readonly #idMapFile: JsonLinesFile;
  readonly #countsByType: Partial<Record<ResourceTypeName, TypeCounts>> = {};
  readonly #leftOutRecords: LeftOutRecord[] = [];
  #leftOutCount = 0;
  #changedCount = 0;

  constructor(deps: ConvertDeps) {
    this.#deps = deps;
    this.#rowBuilder = new RowBuilder(deps);
    this.#exportFile = new JsonLinesFile(deps.paths.exportFile);
    this.#reportFile = new JsonLinesFile(deps.paths.report);
    this.#idMapFile = new JsonLinesFile(deps.paths.idMap);
  }

  convertAll(): ConversionResult {
    const { workFile, progress } = this.#deps;
    progress.begin('validating the records', workFile.queryNumber('select count(*) from records'));
    this.#writeHeader();
    for (const table of exportedTables) {
      const tableHasher = new TableHasher();
      const resourceType = storedTypes.find((candidate) => candidate.table === table);
      if (resourceType !== undefined) this.#writeResourceType(resourceType, tableHasher);
      else this.#writeOtherTable(table, tableHasher);
      this.#serializer.closeTable(table, tableHasher);
    }
    const { line, totals: end } = this.#serializer.serializeTotals();
    this.#exportFile.addText(line);
    progress.end();
    const totals = { counts: this.#countsByType, changed: this.#changedCount, leftOut: this.#leftOutCount };
    return { sha256: end.sha256, ...totals, skipped: this.#leftOutRecords };
  }

  close(): void {
    for (const outputFile of [this.#exportFile, this.#reportFile, this.#idMapFile]) outputFile.close();
  }

  #writeHeader(): void {
    const { workFile, domain, importedAt } = this.#deps;
    const exported_at = new Date(importedAt).toISOString();
    const issued = Object.fromEntries(storedTypes.map(({ name, table }) => [table, findHighestId(workFile, name)]));
    this.#exportFile.addText(
      this.#serializer.serializeHeader({
        carillon: FORMAT_VERSION,
        schema: getNewestSchemaVersion(),
        version,
        exported_at,
        domain,
        issued,
      }),
    );
  }

  #writeResourceType(resourceType: ResourceType & { table: ExportedTable }, tableHasher: TableHasher): void {
    const { workFile, plan, progress } = this.#deps;
    const typeCounts: TypeCounts = { leftOut: 0, made: 0 };
    this.#countsByType[resourceType.name] = typeCounts;
    this.#reportRecordsWithoutId(resourceType, typeCounts);
    for (const page of workFile.readRecordPages(resourceType.name)) {
      const rows = workFile.inTransaction(() =>
        page.flatMap((record) => this.#convertRecord(resourceType, record, typeCounts)),
      );
      this.#writeRows(resourceType.table, rows, tableHasher);
      if (plan.numbering[resourceType.name]?.kept === false)
        for (const { id, new_id } of page)
          this.#idMapFile.addLine({ resource: resourceType.name, old: id, new: String(new_id) });
      progress.advance(page.length);
    }
  }

  /** Reports records without an id. They are left out, because they cannot be identified. */
  #reportRecordsWithoutId({ name, idField }: ResourceType, typeCounts: TypeCounts): void {
    const rows = this.#deps.workFile.queryRows(`select json from records where noun = ? and origin = 'nameless'`, name);
    for (const { json } of rows)
      this.#reportLeftOut(
        name,
        { id: '', json: String(json) },
        [{ field: idField, message: 'is missing' }],
        typeCounts,
      );
  }

  #convertRecord(
    resourceType: ResourceType,
    record: StoredRecord,
    typeCounts: TypeCounts,
  ): readonly ConvertedRow['row'][] {
    const buildResult = this.#rowBuilder.buildRow(resourceType, record);
    if ('faults' in buildResult) this.#reportLeftOut(resourceType.name, record, buildResult.faults, typeCounts);
    const { row, changes } = ('faults' in buildResult ? buildResult.placeholderRow : buildResult) ?? {};
    if (row === undefined) {
      this.#deps.workFile.run('update records set is_left = 1 where noun = ? and id = ?', resourceType.name, record.id);
      return [];
    }
    if ('faults' in buildResult || record.origin === 'made') typeCounts.made += 1;
    this.#reportChanges(resourceType.name, record, changes ?? []);
    return [row];
  }

  #reportLeftOut(
    typeName: ResourceTypeName,
    { id, json }: Pick<StoredRecord, 'id' | 'json'>,
    left_out: readonly FieldError[],
    typeCounts: TypeCounts,
  ): void {
    typeCounts.leftOut += 1;
    this.#leftOutCount += 1;
    if (this.#leftOutRecords.length < MAX_LISTED_LEFT_OUT_RECORDS)
      this.#leftOutRecords.push({ resource: typeName, id, left_out });
    this.#reportFile.addLine({ resource: typeName, id, left_out, record: JSON.parse(json) });
  }

  #reportChanges(typeName: ResourceTypeName, { id, origin }: StoredRecord, changes: ConvertedRow['changes']): void {
    // For a record that the import created, only differences from the source are reported as changes. The account
    // always exists, so it is not reported as created.
    const isPlaceholder = origin === 'made' && typeName !== 'company';
    const reportedChanges = origin === 'made' ? changes.filter(({ was }) => was !== undefined) : changes;
    if (!isPlaceholder && reportedChanges.length === 0) return;
    this.#changedCount += 1;
    this.#reportFile.addLine({
      resource: typeName,
      id,
      ...(isPlaceholder && { made: 'the source does not list it' }),
      changed: reportedChanges,
    });
  }

  #writeOtherTable(table: ExportedTable, tableHasher: TableHasher): void {
    const { accountId: account_id } = this.#deps.plan;
    if (table === 'positions')
      this.#writeRows(table, [{ account_id, position: 0, occurred_at: 0, epoch_start: 0 }], tableHasher);
    if (table !== 'assignments') return;
    for (const page of this.#deps.workFile.readAssignmentPages())
      this.#writeRows(
        table,
        page.map((row) => ({ account_id, ...row })),
        tableHasher,
      );
  }

  #writeRows(table: ExportedTable, rows: readonly ConvertedRow['row'][], tableHasher: TableHasher): void {
    const columns = exportedColumnsOf(table);
    const orderedRows = rows.map(
      (row) => Object.fromEntries(columns.map((column) => [column, row[column]])) as ExportedRow,
    );
    this.#exportFile.addText(this.#serializer.serializeRows(table, orderedRows, tableHasher));
  }
}

function findHighestId(workFile: WorkFile, typeName: ResourceTypeName): number {
  return workFile.queryNumber('select max(new_id) from records where noun = ?', typeName);
}
