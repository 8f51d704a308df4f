import type { Progress } from '../transfer/progress.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { type ResourceType, type ResourceTypeName, resourceTypes } from './nouns.ts';
import { type Missing, type Reply, type Source, TooLarge } from './source.ts';
import type { Work } from './work.ts';

export const PAGE = 1_000;

export type ReadPorts = {
  readonly source: Source;
  readonly work: Work;
  readonly progress: Progress;
  readonly say: (line: string) => void;
  /** How often the source is read at the most, until a reading finds what the one before it has found. */
  readonly readings: number;
};

/** What the readings came to: how many records were other in the last one; undefined after one reading alone. */
export type Standing = { readonly readings: number; readonly changed: number | undefined };

/**
 * Reads every list from end to end, again and again, until a reading finds nothing new: offsets shift while others write,
 * and no list says what was changed. Goes on where an earlier run was; what that one had read to its end is read once
 * more.
 */
export async function readAll(ports: ReadPorts): Promise<Standing> {
  const { work, say } = ports;
  const begun = work.fact<{ reading: number; isOver: boolean }>('reading') ?? { reading: 1, isOver: false };
  const first = begun.isOver ? begun.reading + 1 : begun.reading;
  forget(work);
  for (let reading = first; ; reading += 1) {
    work.setFact('reading', { reading, isOver: false });
    for (const resourceType of resourceTypes) await readResourceType(ports, resourceType, reading);
    await mustBeReadable(ports);
    const changed = resourceTypes.reduce((sum, { name }) => sum + work.list(name).changed, 0);
    work.setFact('reading', { reading, isOver: true });
    const known = reading === 1 ? undefined : changed;
    if (known === 0 || reading - first + 1 >= ports.readings) return { readings: reading, changed: known };
    if (known !== undefined)
      say(`The source has changed while it was read, in ${known} records: it is read once more.`);
  }
}

/** What an earlier run has made up goes; and with another key there may be more to see. */
function forget(work: Work): void {
  work.run(`delete from records where origin = 'made'`);
  for (const { name } of resourceTypes) {
    const list = work.list(name);
    if (list.state === 'absent' || list.state === 'refused')
      work.setList(name, { ...list, state: 'waiting', reading: 0 });
  }
}

async function readResourceType(ports: ReadPorts, resourceType: ResourceType, reading: number): Promise<void> {
  const { work } = ports;
  const before = work.list(resourceType.name);
  if (before.reading === reading && before.state !== 'waiting') return;
  if (before.reading < reading)
    work.setList(resourceType.name, { state: 'waiting', reading, next: 0, total: null, changed: 0 });
  const missing = resourceType.single
    ? await readOne(ports, resourceType, reading)
    : await readList(ports, resourceType, reading);
  if (missing !== undefined && hasRecords(work, resourceType.name)) throw lost(resourceType.name, missing.status);
  if (missing === undefined) await askForUnseen(ports, resourceType, reading);
  work.setList(resourceType.name, { ...work.list(resourceType.name), state: missing?.state ?? 'read' });
}

type Missed = Missing | undefined;

async function readOne({ source, work }: ReadPorts, resourceType: ResourceType, reading: number): Promise<Missed> {
  const reply = await source.get([resourceType.name]);
  if (reply.state !== 'found') return reply;
  work.take(resourceType, { reading, next: 1, total: 1, records: [recordOf(reply.body)] });
  return undefined;
}

async function readList(
  { source, work, progress }: ReadPorts,
  resourceType: ResourceType,
  reading: number,
): Promise<Missed> {
  let limit = PAGE;
  for (let isFirst = true; ; isFirst = false) {
    const { next: offset, total: said } = work.list(resourceType.name);
    const page = await nextPage(source, resourceType, { offset, said, limit });
    if ('state' in page) return page;
    const { total, records } = page;
    if (isFirst) progress.begin(`reading ${resourceType.name}`, total === null ? 0 : Math.max(total - offset, 0));
    const next = offset + records.length;
    const fresh = work.take(resourceType, { reading, next, total, records });
    progress.advance(records.length);
    limit = page.limit;
    // Who says no total ends with an empty page, or gives the same one for ever. And a full page may have another one
    // behind it, whatever the total says.
    const isEnd = fresh === 0 ? total === null || next >= total : total !== null && next >= total && !page.isFull;
    if (records.length > 0 && !isEnd) continue;
    progress.end();
    return undefined;
  }
}

type Wanted = { readonly offset: number; readonly said: number | null; readonly limit: number };
type Page = { total: number | null; records: readonly unknown[]; limit: number; isFull: boolean };

/** The page at an offset, of no more records than go into one answer. */
async function nextPage(
  source: Source,
  resourceType: ResourceType,
  { offset, said, limit }: Wanted,
): Promise<Page | Missing> {
  try {
    const reply = await source.get([resourceType.name], { limit, offset });
    if (reply.state === 'found') {
      const { total, most, records } = pageOf(reply.body, resourceType.name);
      return { total, records, limit, isFull: records.length >= Math.min(limit, most ?? limit) };
    }
    // Behind its end some have no empty page, but nothing.
    const isBehind = reply.state === 'absent' && offset > 0 && offset >= (said ?? 0);
    return isBehind ? { total: said, records: [], limit, isFull: false } : reply;
  } catch (error) {
    if (!(error instanceof TooLarge) || limit === 1) throw error;
    return nextPage(source, resourceType, { offset, said, limit: Math.ceil(limit / 10) });
  }
}

/** What an earlier reading has shown and this one has not may be gone, or have slipped past between two pages. */
async function askForUnseen({ source, work }: ReadPorts, resourceType: ResourceType, reading: number): Promise<void> {
  for (
    let id = work.unseen(resourceType.name, reading);
    id !== undefined;
    id = work.unseen(resourceType.name, reading)
  ) {
    const isAskable = resourceType.single === undefined && !id.startsWith('?');
    const reply: Reply = isAskable ? await source.get([resourceType.name, id]) : { state: 'absent', status: 404 };
    const list = work.list(resourceType.name);
    if (reply.state === 'refused') throw lost(`${resourceType.name} ${id}`, reply.status);
    if (reply.state === 'found') work.take(resourceType, { ...list, reading, records: [recordOf(reply.body)] });
    // Gone; or the source answers another record than it was asked for, which is no better.
    if (work.unseen(resourceType.name, reading) !== id) continue;
    work.inOne(() => {
      work.drop(resourceType.name, id);
      work.setList(resourceType.name, { ...list, changed: list.changed + 1 });
    });
  }
}

function lost(what: string, status: number): TransferError {
  return new TransferError(`The source showed ${what} before, and answers ${status} now.`);
}

function hasRecords(work: Work, resourceType: ResourceTypeName): boolean {
  return work.count(`select count(*) from records where noun = ? and origin <> 'made'`, resourceType) > 0;
}

/** Somewhere the key must be good; and where it is refused, it must not have been revoked meanwhile. */
async function mustBeReadable({ source, work }: ReadPorts): Promise<void> {
  const states = resourceTypes.map(({ name }) => work.list(name).state);
  const good = resourceTypes[states.indexOf('read')];
  const isRefused = states.includes('refused');
  if (good !== undefined) {
    const reply = isRefused ? await source.get([good.name], good.single ? {} : ONE) : undefined;
    if (reply !== undefined && reply.state !== 'found') throw lost(good.name, reply.status);
  } else if (isRefused)
    throw new TransferError('The source accepts neither the key nor the domain: it answers 401 to everything.');
  else
    throw new TransferError(
      'There is no such interface: the source answers 404 to everything. --from-api must name its base address.',
    );
}

const ONE = { limit: 1, offset: 0 } as const;

/** How many records a list has by its own word; undefined where it says nothing. */
export async function totalOf(source: Source, resourceType: ResourceType): Promise<number | undefined> {
  const reply = await source.get([resourceType.name], ONE);
  return reply.state === 'found' ? (pageOf(reply.body, resourceType.name).total ?? undefined) : undefined;
}

/** `total`: how many records there are by its own word; `most`: how many it gives at once. */
export function pageOf(
  body: unknown,
  name: string,
): { total: number | null; most: number | null; records: readonly unknown[] } {
  const data = fieldOf(body, 'data');
  if (!Array.isArray(data)) throw new TransferError(`The source answers no list to GET /v2/${name}: it has no data.`);
  const paging = fieldOf(body, 'paging');
  return { total: countIn(paging, 'total_records'), most: countIn(paging, 'limit'), records: data };
}

function countIn(paging: unknown, name: string): number | null {
  const count = Number(fieldOf(paging, name) ?? Number.NaN);
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** A single record: the specification does not show what is around it. */
function recordOf(body: unknown): unknown {
  const data = fieldOf(body, 'data') ?? body;
  return Array.isArray(data) ? data[0] : data;
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
