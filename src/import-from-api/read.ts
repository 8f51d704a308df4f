import type { TransferProgress } from '../transfer/progress.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { type ResourceType, type ResourceTypeName, resourceTypes } from './resource-types.ts';
import { type MissingReply, ResponseTooLarge, type SourceClient, type SourceReply } from './source.ts';
import type { WorkFile } from './work-file.ts';

export const PAGE_SIZE = 1_000;

export type ReadPorts = {
  readonly source: SourceClient;
  readonly work: WorkFile;
  readonly progress: TransferProgress;
  readonly print: (line: string) => void;
  /** Maximum number of passes over the source; reading stops when a pass finds no change. */
  readonly readings: number;
};

/** The number of passes, and the number of records that changed in the last pass; undefined after a single pass. */
export type ReadResult = { readonly readings: number; readonly changed: number | undefined };

/**
 * Reads all lists completely, in several passes, until a pass finds no change. Several are necessary because offsets
 * shift when the source changes meanwhile, and lists do not report changes. Continues where an earlier run stopped. If
 * that run has finished a pass, starts another pass.
 */
export async function readAll(ports: ReadPorts): Promise<ReadResult> {
  const { work, print } = ports;
  const begun = work.readFact<{ reading: number; isOver: boolean }>('reading') ?? { reading: 1, isOver: false };
  const first = begun.isOver ? begun.reading + 1 : begun.reading;
  resetEarlierRun(work);
  for (let reading = first; ; reading += 1) {
    work.writeFact('reading', { reading, isOver: false });
    for (const resourceType of resourceTypes) await readResourceType(ports, resourceType, reading);
    await requireReadable(ports);
    const changed = resourceTypes.reduce((sum, { name }) => sum + work.listState(name).changed, 0);
    work.writeFact('reading', { reading, isOver: true });
    const known = reading === 1 ? undefined : changed;
    if (known === 0 || reading - first + 1 >= ports.readings) return { readings: reading, changed: known };
    if (known !== undefined) print(`The source has changed while it was read, in ${known} records: it is read again.`);
  }
}

/**
 * Drops the placeholders of an earlier run. Also resets lists that were not readable, because this run may use another
 * key.
 */
function resetEarlierRun(work: WorkFile): void {
  work.run(`delete from records where origin = 'made'`);
  for (const { name } of resourceTypes) {
    const list = work.listState(name);
    if (list.state === 'absent' || list.state === 'refused')
      work.setListState(name, { ...list, state: 'waiting', reading: 0 });
  }
}

async function readResourceType(ports: ReadPorts, resourceType: ResourceType, reading: number): Promise<void> {
  const { work } = ports;
  const before = work.listState(resourceType.name);
  if (before.reading === reading && before.state !== 'waiting') return;
  if (before.reading < reading)
    work.setListState(resourceType.name, { state: 'waiting', reading, next: 0, total: null, changed: 0 });
  const missing = resourceType.single
    ? await readOne(ports, resourceType, reading)
    : await readList(ports, resourceType, reading);
  if (missing !== undefined && hasRecords(work, resourceType.name))
    throw accessLostError(resourceType.name, missing.status);
  if (missing === undefined) await fetchUnseen(ports, resourceType, reading);
  work.setListState(resourceType.name, { ...work.listState(resourceType.name), state: missing?.state ?? 'read' });
}

type ReadFailure = MissingReply | undefined;

async function readOne({ source, work }: ReadPorts, resourceType: ResourceType, reading: number): Promise<ReadFailure> {
  const reply = await source.get([resourceType.name]);
  if (reply.state !== 'found') return reply;
  work.storePage(resourceType, { reading, next: 1, total: 1, records: [recordOf(reply.body)] });
  return undefined;
}

async function readList(
  { source, work, progress }: ReadPorts,
  resourceType: ResourceType,
  reading: number,
): Promise<ReadFailure> {
  let limit = PAGE_SIZE;
  for (let isFirst = true; ; isFirst = false) {
    const { next: offset, total: lastTotal } = work.listState(resourceType.name);
    const page = await fetchPage(source, resourceType, { offset, total: lastTotal, limit });
    if ('state' in page) return page;
    const { total, records } = page;
    if (isFirst) progress.begin(`reading ${resourceType.name}`, total === null ? 0 : Math.max(total - offset, 0));
    const next = offset + records.length;
    const fresh = work.storePage(resourceType, { reading, next, total, records });
    progress.advance(records.length);
    limit = page.limit;
    // A source without a total ends with an empty page, or repeats the last page forever. After a full page another
    // page may follow, whatever the total is.
    const isEnd = fresh === 0 ? total === null || next >= total : total !== null && next >= total && !page.isFull;
    if (records.length > 0 && !isEnd) continue;
    progress.end();
    return undefined;
  }
}

type PageRequest = { readonly offset: number; readonly total: number | null; readonly limit: number };
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
      const { total, most: maxPageSize, records } = parsePage(reply.body, resourceType.name);
      return { total, records, limit, isFull: records.length >= Math.min(limit, maxPageSize ?? limit) };
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
 * Fetches, one by one, the records that an earlier pass has read and this pass has not. They were deleted, or skipped
 * between two pages.
 */
async function fetchUnseen({ source, work }: ReadPorts, resourceType: ResourceType, reading: number): Promise<void> {
  for (
    let id = work.findUnseen(resourceType.name, reading);
    id !== undefined;
    id = work.findUnseen(resourceType.name, reading)
  ) {
    const canFetch = resourceType.single === undefined && !id.startsWith('?');
    const reply: SourceReply = canFetch ? await source.get([resourceType.name, id]) : { state: 'absent', status: 404 };
    const list = work.listState(resourceType.name);
    if (reply.state === 'refused') throw accessLostError(`${resourceType.name} ${id}`, reply.status);
    if (reply.state === 'found') work.storePage(resourceType, { ...list, reading, records: [recordOf(reply.body)] });
    // The record is still unseen. It was deleted, or the source has returned a record other than the requested one.
    if (work.findUnseen(resourceType.name, reading) !== id) continue;
    work.inTransaction(() => {
      work.deleteRecord(resourceType.name, id);
      work.setListState(resourceType.name, { ...list, changed: list.changed + 1 });
    });
  }
}

function accessLostError(what: string, status: number): TransferError {
  return new TransferError(`The source showed ${what} before, and returns ${status} now.`);
}

function hasRecords(work: WorkFile, resourceType: ResourceTypeName): boolean {
  return work.count(`select count(*) from records where noun = ? and origin <> 'made'`, resourceType) > 0;
}

/**
 * Throws unless the key can read at least one list. If the key was refused for any list, checks that it has not been
 * revoked.
 */
async function requireReadable({ source, work }: ReadPorts): Promise<void> {
  const states = resourceTypes.map(({ name }) => work.listState(name).state);
  const good = resourceTypes[states.indexOf('read')];
  const isRefused = states.includes('refused');
  if (good !== undefined) {
    const reply = isRefused ? await source.get([good.name], good.single ? {} : ONE_RECORD) : undefined;
    if (reply !== undefined && reply.state !== 'found') throw accessLostError(good.name, reply.status);
  } else if (isRefused)
    throw new TransferError('The source accepts neither the key nor the domain: it returns 401 for everything.');
  else
    throw new TransferError(
      'The source has no such API: it returns 404 for everything. --from-api must be its base address.',
    );
}

const ONE_RECORD = { limit: 1, offset: 0 } as const;

/** Fetches the total of a list that the source reports; undefined if it reports none. */
export async function fetchTotal(source: SourceClient, resourceType: ResourceType): Promise<number | undefined> {
  const reply = await source.get([resourceType.name], ONE_RECORD);
  return reply.state === 'found' ? (parsePage(reply.body, resourceType.name).total ?? undefined) : undefined;
}

/**
 * Parses a page of a list. `total` is the number of records that the source reports, and `maxPageSize` its maximum page
 * size.
 */
export function parsePage(
  body: unknown,
  name: string,
): { total: number | null; most: number | null; records: readonly unknown[] } {
  const data = fieldOf(body, 'data');
  if (!Array.isArray(data)) throw new TransferError(`The source returned no list for GET /v2/${name}: it has no data.`);
  const paging = fieldOf(body, 'paging');
  return { total: parseCount(paging, 'total_records'), most: parseCount(paging, 'limit'), records: data };
}

function parseCount(paging: unknown, name: string): number | null {
  const count = Number(fieldOf(paging, name) ?? Number.NaN);
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** Extracts a single record. The specification does not define its envelope, so several forms are accepted. */
function recordOf(body: unknown): unknown {
  const data = fieldOf(body, 'data') ?? body;
  return Array.isArray(data) ? data[0] : data;
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
