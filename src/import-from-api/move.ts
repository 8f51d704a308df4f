import type { Clock } from '../clock.ts';
import { findAccountId } from '../resources/accounts/actions.ts';
import type { Store } from '../store/store.ts';
import { importExportFile } from '../transfer/import.ts';
import { findIncompleteTransfer, requireNoRunningService } from '../transfer/incomplete-transfers.ts';
import { countRows } from '../transfer/keyset-pages.ts';
import { TransferError, type TransferProgress } from '../transfer/operator-report.ts';
import { type ConversionResult, convertRecords } from './convert.ts';
import { type ImportPlan, planImport } from './plan.ts';
import { fetchTotal, type ReadResult, readSource } from './read.ts';
import { listedTypes, type ResourceTypeName, resourceTypes, storedTypes } from './resource-types.ts';
import type { SourceClient } from './source.ts';
import type { WorkFile } from './work-file.ts';

/** Opens the database, runs the operation, and closes the database. */
export type WithStore = <T>(operation: (store: Store) => Promise<T>) => Promise<T>;

export type ImportAccountDeps = {
  readonly source: SourceClient;
  readonly workFile: WorkFile;
  /** Opens the database, on which a service may be running. */
  readonly withStore: WithStore;
  /** Opens the database exclusively: no service may be running. */
  readonly withExclusiveStore: WithStore;
  readonly clock: Clock;
  readonly progress: TransferProgress;
  readonly print: (line: string) => void;
  /** Domain of the account at this service. */
  readonly domain: string;
  readonly ownerEmail: string | undefined;
  /** Maximum number of passes over the source. */
  readonly readings: number;
  /** Whether any left-out or changed record aborts the import. */
  readonly isStrict: boolean;
  readonly paths: { readonly report: string; readonly idMap: string };
};

/** The comparison of one resource type: the number of its records at the source and at this service. */
export type TypeComparison = {
  readonly resourceType: ResourceTypeName;
  /** The total that the source reports; undefined if it reports none. */
  readonly there: number | undefined;
  /**
   * Whether `there` was queried after the import. False if the source no longer responds; `there` is then the last
   * known total.
   */
  readonly isQueried: boolean;
  /** Number of imported records at this service, without the rows that the import created on its own. */
  readonly here: number;
  readonly leftOut: number;
  /** Number of rows that the import created on its own. */
  readonly placeholders: number;
  /** Whether `there` equals `here` plus `leftOut`; also true if the source reports no total. */
  readonly isSame: boolean;
};

export type ImportAccountResult = StoredResult & {
  readonly comparisons: readonly TypeComparison[];
  /** Resource types that the source does not have, or that the key may not read. */
  readonly unreadableTypes: readonly {
    readonly resourceType: ResourceTypeName;
    readonly state: 'absent' | 'refused';
  }[];
};

/** The result of the conversion, as stored in the work file. */
type StoredResult = ConversionResult & {
  readonly plan: ImportPlan;
  readonly ownerId: number;
  readonly ownerEmail: string;
  readonly domain: string;
  readonly reading: ReadResult;
};

/**
 * Imports an account from another service: reads it through the API, writes an export file, imports that file, and
 * compares the counts. After an interruption, the next run continues where this run stopped.
 */
export async function importAccount(deps: ImportAccountDeps): Promise<ImportAccountResult> {
  const storedResult = (await resumeImport(deps)) ?? (await readAndImport(deps));
  const comparisons: TypeComparison[] = [];
  for (const resourceType of listedTypes)
    if (deps.workFile.getListState(resourceType.name).state === 'read')
      comparisons.push(await compareCounts(deps, resourceType.name, storedResult));
  const unreadableTypes = resourceTypes.flatMap(({ name: resourceType }) => {
    const { state } = deps.workFile.getListState(resourceType);
    return state === 'absent' || state === 'refused' ? [{ resourceType, state }] : [];
  });
  return { ...storedResult, comparisons, unreadableTypes };
}

async function readAndImport(deps: ImportAccountDeps): Promise<StoredResult> {
  await deps.withStore((store) => requireFreeDomain(store, deps.domain));
  const readResult = await readSource(deps);
  return deps.withExclusiveStore(async (store) => {
    await requireNoRunningService(store);
    const storedResult = await planAndConvert(deps, store, readResult);
    if (deps.isStrict && storedResult.leftOut + storedResult.changed > 0)
      throw new TransferError(
        `${storedResult.leftOut} records cannot be imported, and ${storedResult.changed} only with changes: see ${deps.paths.report}. Nothing was imported.`,
      );
    deps.workFile.saveValue('written', storedResult);
    await importConvertedFile(deps, store, false);
    return storedResult;
  });
}

/**
 * Completes an import that an earlier run has started, and returns its result. If that import is already complete, only
 * returns its result. Returns undefined if there is no such import.
 */
async function resumeImport(deps: ImportAccountDeps): Promise<StoredResult | undefined> {
  const { workFile, withExclusiveStore } = deps;
  const storedResult = workFile.readSavedValue<StoredResult>('written');
  if (storedResult === undefined) return undefined;
  const { domain, plan: importPlan, sha256 } = storedResult;
  return withExclusiveStore(async (store) => {
    const incompleteTransfer = await findIncompleteTransfer(store.read);
    const isInterrupted = incompleteTransfer?.checksum === sha256;
    const isImported =
      incompleteTransfer === undefined && (await findAccountId(store.read, domain)) === importPlan.accountId;
    if (!isInterrupted && !isImported) return undefined;
    if (domain !== deps.domain)
      throw new TransferError(
        `${workFile.path} belongs to an import as ${domain} that has already started: --as-domain ${domain} completes it, --work with another file starts a new one.`,
      );
    if (isInterrupted) await importConvertedFile(deps, store, true);
    return storedResult;
  });
}

async function requireFreeDomain(store: Store, domain: string): Promise<void> {
  if ((await findAccountId(store.read, domain)) === undefined) return;
  throw new TransferError(`The domain ${domain} is taken in this database: --as-domain gives the account another one.`);
}

async function planAndConvert(deps: ImportAccountDeps, store: Store, readResult: ReadResult): Promise<StoredResult> {
  const { workFile, domain, clock, progress, paths } = deps;
  await requireFreeDomain(store, domain);
  const importPlan = await planImport(workFile, store, deps.ownerEmail);
  const now = clock.now();
  const exportPath = exportPathOf(workFile);
  const conversionResult = convertRecords({
    workFile,
    plan: importPlan,
    domain,
    importedAt: now,
    progress,
    paths: { ...paths, exportFile: exportPath },
  });
  const ownerId = workFile.findNewId('users', importPlan.owner) ?? 0;
  const [ownerRow] = workFile.queryRows(
    `select json ->> 'email' as email from records where noun = 'users' and new_id = ?`,
    ownerId,
  );
  return {
    ...conversionResult,
    plan: importPlan,
    ownerId,
    ownerEmail: String(ownerRow?.email),
    domain,
    reading: readResult,
  };
}

function exportPathOf(workFile: WorkFile): string {
  return `${workFile.path}.jsonl`;
}

async function importConvertedFile(
  { workFile, clock, progress }: ImportAccountDeps,
  store: Store,
  mayResume: boolean,
): Promise<void> {
  await importExportFile({ store, path: exportPathOf(workFile), clock, progress, mayResume });
}

/**
 * Compares the number of imported records with the current total of the source, or with the last known total if the
 * source no longer responds.
 */
async function compareCounts(
  { source, workFile, withStore, print }: ImportAccountDeps,
  resourceType: ResourceTypeName,
  storedResult: StoredResult,
): Promise<TypeComparison> {
  const storedType = storedTypes.find(({ name }) => name === resourceType);
  if (storedType === undefined) throw new Error(`${resourceType} has no rows`);
  const currentTotal = await fetchTotal(source, storedType).catch((error: unknown) => {
    if (!(error instanceof TransferError)) throw error;
    print(error.message);
    return undefined;
  });
  const sourceTotal = currentTotal ?? workFile.getListState(resourceType).total ?? undefined;
  const rowCount = await withStore((store) => countRows(store.read, storedType.table, storedResult.plan.accountId));
  const { leftOut = 0, made: placeholders = 0 } = storedResult.counts[resourceType] ?? {};
  const importedCount = rowCount - placeholders;
  const isSame = sourceTotal === undefined || sourceTotal === importedCount + leftOut;
  return {
    resourceType,
    there: sourceTotal,
    isQueried: currentTotal !== undefined,
    here: importedCount,
    leftOut,
    placeholders,
    isSame,
  };
}
