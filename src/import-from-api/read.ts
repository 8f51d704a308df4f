import { TransferError, type TransferProgress } from '../transfer/operator-report.ts';
import { type ResourceType, type ResourceTypeName, resourceTypes } from './resource-types.ts';
import { type MissingReply, ResponseTooLarge, type SourceClient, type SourceReply } from './source.ts';
import type { WorkFile } from './work-file.ts';

export const PAGE_SIZE = 1_000;

type ReadDeps = {
  readonly source: SourceClient;
  readonly workFile: WorkFile;
  readonly progress: TransferProgress;
  readonly print: (line: string) => void;
  /** Maximum number of passes over the source; reading stops when a pass finds no change. */
  readonly readings: number;
};

/** The number of passes, and the number of records that changed in the last pass; undefined after a single pass. */
export type ReadResult = { readonly readings: number; readonly changed: number | undefined };

/**
 * Reads all lists in several passes, until a pass finds no change or the maximum number of passes is reached. A single
 * pass can miss records: a record that is created or deleted during the pass shifts the offsets of the others, and
 * lists do not report changes. Continues the pass in which an earlier run stopped, or starts another pass if that run
 * has finished its pass.
 */
export async function readSource(deps: ReadDeps): Promise<ReadResult> {
  const { workFile, print } = deps;
  const lastPass = workFile.readSavedValue<{ reading: number; isOver: boolean }>('reading') ?? {
    reading: 1,
    isOver: false,
  };
  const firstPass = lastPass.isOver ? lastPass.reading + 1 : lastPass.reading;
  resetEarlierRun(workFile);
  for (let pass = firstPass; ; pass += 1) {
    workFile.saveValue('reading', { reading: pass, isOver: false });
    for (const resourceType of resourceTypes) await readResourceType(deps, resourceType, pass);
    await requireReadable(deps);
    const changeCount = resourceTypes.reduce((sum, { name }) => sum + workFile.getListState(name).changed, 0);
    workFile.saveValue('reading', { reading: pass, isOver: true });
    const knownChangeCount = pass === 1 ? undefined : changeCount;
    if (knownChangeCount === 0 || pass - firstPass + 1 >= deps.readings)
      return { readings: pass, changed: knownChangeCount };
    if (knownChangeCount !== undefined)
      print(`The source has changed while it was read, in ${knownChangeCount} records: it is read again.`);
  }
}

/**
 * Drops the placeholders of an earlier run. Also resets lists that were not readable, because this run may use another
 * key.
 */
function resetEarlierRun(workFile: WorkFile): void {
  workFile.run(`delete from records where origin = 'made'`);
  for (const { name } of resourceTypes) {
    const listState = workFile.getListState(name);
    if (listState.state === 'absent' || listState.state === 'refused')
      workFile.setListState(name, { ...listState, state: 'waiting', reading: 0 });
  }
}

async function readResourceType(deps: ReadDeps, resourceType: ResourceType, pass: number): Promise<void> {
  const { workFile } = deps;
  const previousState = workFile.getListState(resourceType.name);
  if (previousState.reading === pass && previousState.state !== 'waiting') return;
  if (previousState.reading < pass)
    workFile.setListState(resourceType.name, { state: 'waiting', reading: pass, next: 0, total: null, changed: 0 });
  const missingReply = resourceType.isSingle
    ? await readSingle(deps, resourceType, pass)
    : await readList(deps, resourceType, pass);
  if (missingReply !== undefined && hasRecords(workFile, resourceType.name))
    throw createAccessLostError(resourceType.name, missingReply.status);
  if (missingReply === undefined) await fetchUnseenRecords(deps, resourceType, pass);
  workFile.setListState(resourceType.name, {
    ...workFile.getListState(resourceType.name),
    state: missingReply?.state ?? 'read',
  });
}

/** The reply of a source that does not return the resource; undefined if the resource was read. */
type ReadOutcome = MissingReply | undefined;

async function readSingle(
  { source, workFile }: ReadDeps,
  resourceType: ResourceType,
  pass: number,
): Promise<ReadOutcome> {
  const reply = await source.get([resourceType.name]);
  if (reply.state !== 'found') return reply;
  workFile.storePage(resourceType, { reading: pass, next: 1, total: 1, records: [extractRecord(reply.body)] });
  return undefined;
}

async function readList(
  { source, workFile, progress }: ReadDeps,
  resourceType: ResourceType,
  pass: number,
): Promise<ReadOutcome> {
  let limit = PAGE_SIZE;
  for (let isFirstPage = true; ; isFirstPage = false) {
    const { next: offset, total: lastTotal } = workFile.getListState(resourceType.name);
    const page = await fetchPage(source, resourceType, { offset, total: lastTotal, limit });
    if ('state' in page) return page;
    const { total, records } = page;
    if (isFirstPage) progress.begin(`reading ${resourceType.name}`, total === null ? 0 : Math.max(total - offset, 0));
    const nextOffset = offset + records.length;
    const newCount = workFile.storePage(resourceType, { reading: pass, next: nextOffset, total, records });
    progress.advance(records.length);
    limit = page.limit;
    // A list that reports a total ends at this total. After a full page, another page is read nevertheless, because the
    // total may be too low. A list without a total ends with a page that is empty or contains only known records.
    const isEnd =
      newCount === 0 ? total === null || nextOffset >= total : total !== null && nextOffset >= total && !page.isFull;
    if (records.length > 0 && !isEnd) continue;
    progress.end();
    return undefined;
  }
}

/** A page to fetch: its offset, the last known total of the list, and the maximum number of records. */
type PageRequest = { readonly offset: number; readonly total: number | null; readonly limit: number };
/**
 * A fetched page. `limit` is the page size for the next request, and `isFull` says whether the page has as many records
 * as a page can have, so that more may follow.
 */
type SourcePage = { total: number | null; records: readonly unknown[]; limit: number; isFull: boolean };

/** Fetches the page at an offset. If the response is too large, retries with a smaller page. */
async function fetchPage(
  source: SourceClient,
  resourceType: ResourceType,
  { offset, total: lastTotal, limit }: PageRequest,
): Promise<SourcePage | MissingReply> {
  try {
    const reply = await source.get([resourceType.name], { limit, offset });
    if (reply.state === 'found') {
      const { total, pageSizeLimit, records } = parsePage(reply.body, resourceType.name);
      return { total, records, limit, isFull: records.length >= Math.min(limit, pageSizeLimit ?? limit) };
    }
    // After the last page some services return 404 instead of an empty page.
    const isAfterEnd = reply.state === 'absent' && offset > 0 && offset >= (lastTotal ?? 0);
    return isAfterEnd ? { total: lastTotal, records: [], limit, isFull: false } : reply;
  } catch (error) {
    if (!(error instanceof ResponseTooLarge) || limit === 1) throw error;
    return fetchPage(source, resourceType, { offset, total: lastTotal, limit: Math.ceil(limit / 10) });
  }
}

/**
 * Fetches, one by one, the records that an earlier pass has read and this pass has not. They were deleted at the
 * source, or this pass missed them because the offsets of the list shifted between two pages.
 */
async function fetchUnseenRecords(
  { source, workFile }: ReadDeps,
  resourceType: ResourceType,
  pass: number,
): Promise<void> {
  for (
    let id = workFile.findUnseenId(resourceType.name, pass);
    id !== undefined;
    id = workFile.findUnseenId(resourceType.name, pass)
  ) {
    const canFetch = resourceType.isSingle === undefined && !id.startsWith('?');
    const reply: SourceReply = canFetch ? await source.get([resourceType.name, id]) : { state: 'absent', status: 404 };
    const listState = workFile.getListState(resourceType.name);
    if (reply.state === 'refused') throw createAccessLostError(`${resourceType.name} ${id}`, reply.status);
    if (reply.state === 'found')
      workFile.storePage(resourceType, { ...listState, reading: pass, records: [extractRecord(reply.body)] });
    // If the record is still unseen, it was deleted, or the source has returned a record other than the requested one.
    if (workFile.findUnseenId(resourceType.name, pass) !== id) continue;
    workFile.inTransaction(() => {
      workFile.deleteRecord(resourceType.name, id);
      workFile.setListState(resourceType.name, { ...listState, changed: listState.changed + 1 });
    });
  }
}

function createAccessLostError(resource: string, status: number): TransferError {
  return new TransferError(`The source showed ${resource} before, and returns ${status} now.`);
}

function hasRecords(workFile: WorkFile, typeName: ResourceTypeName): boolean {
  return workFile.queryNumber(`select count(*) from records where noun = ? and origin <> 'made'`, typeName) > 0;
}

/**
 * Throws unless the key can read at least one list. If the key was refused for any list, checks that it has not been
 * revoked.
 */
async function requireReadable({ source, workFile }: ReadDeps): Promise<void> {
  const listStates = resourceTypes.map(({ name }) => workFile.getListState(name).state);
  const readableType = resourceTypes[listStates.indexOf('read')];
  const isAnyRefused = listStates.includes('refused');
  if (readableType !== undefined) {
    const reply = isAnyRefused
      ? await source.get([readableType.name], readableType.isSingle ? {} : ONE_RECORD_QUERY)
      : undefined;
    if (reply !== undefined && reply.state !== 'found') throw createAccessLostError(readableType.name, reply.status);
  } else if (isAnyRefused)
    throw new TransferError('The source accepts neither the key nor the domain: it returns 401 for everything.');
  else
    throw new TransferError(
      'The source has no such API: it returns 404 for everything. --from-api must be its base address.',
    );
}

const ONE_RECORD_QUERY = { limit: 1, offset: 0 } as const;

/** Fetches the total that the source reports for a list; undefined if it reports none. */
export async function fetchTotal(source: SourceClient, resourceType: ResourceType): Promise<number | undefined> {
  const reply = await source.get([resourceType.name], ONE_RECORD_QUERY);
  return reply.state === 'found' ? (parsePage(reply.body, resourceType.name).total ?? undefined) : undefined;
}

/**
 * Parses a page of a list. `total` is the number of records that the source reports, and `pageSizeLimit` is its maximum
 * page size; null if the source reports none.
 */
export function parsePage(
  body: unknown,
  name: string,
): { total: number | null; pageSizeLimit: number | null; records: readonly unknown[] } {
  const data = fieldOf(body, 'data');
  if (!Array.isArray(data)) throw new TransferError(`The source returned no list for GET /v2/${name}: it has no data.`);
  const paging = fieldOf(body, 'paging');
  return { total: parseCount(paging, 'total_records'), pageSizeLimit: parseCount(paging, 'limit'), records: data };
}

function parseCount(paging: unknown, name: string): number | null {
  const count = Number(fieldOf(paging, name) ?? Number.NaN);
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** Extracts a single record. The specification does not define its envelope, so several forms are accepted. */
function extractRecord(body: unknown): unknown {
  const data = fieldOf(body, 'data') ?? body;
  return Array.isArray(data) ? data[0] : data;
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
