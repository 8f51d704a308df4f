import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import { importFrom } from '../transfer/import.ts';
import { findUnfinished, refuseServed } from '../transfer/incomplete-transfers.ts';
import { countOf } from '../transfer/keyset-pages.ts';
import type { Progress } from '../transfer/progress.ts';
import { TransferError } from '../transfer/transfer-error.ts';
import { type Converted, convert } from './convert.ts';
import { kept, listed, type ResourceTypeName, resourceTypes } from './nouns.ts';
import { type Plan, plan } from './plan.ts';
import { readAll, type Standing, totalOf } from './read.ts';
import type { Source } from './source.ts';
import type { Work } from './work.ts';

/** Opens the database for one piece of work and closes it again. */
export type Opening = <T>(work: (store: Store) => Promise<T>) => Promise<T>;

export type MovePorts = {
  readonly source: Source;
  readonly work: Work;
  /** Beside a service that runs on it, and in place of one. */
  readonly beside: Opening;
  readonly alone: Opening;
  readonly clock: Clock;
  readonly progress: Progress;
  readonly say: (line: string) => void;
  /** The account's domain here. */
  readonly domain: string;
  readonly ownerEmail: string | undefined;
  readonly readings: number;
  /** Whether what cannot come as it is keeps everything from coming. */
  readonly isStrict: boolean;
  readonly paths: { readonly report: string; readonly idMap: string };
};

/** What has become of one noun: how many records the source says it has, and how many are here. */
export type Compared = {
  readonly resourceType: ResourceTypeName;
  /** By the source's own word; undefined where it says nothing. */
  readonly there: number | undefined;
  /** Whether it said so in the end; else it did while it was read, and does not answer any more. */
  readonly isAsked: boolean;
  readonly here: number;
  readonly leftOut: number;
  /** Rows here that are no records of the source. */
  readonly made: number;
  readonly isSame: boolean;
};

export type Moved = Written & {
  readonly compared: readonly Compared[];
  /** Nouns that the source does not have, or that the key may not see. */
  readonly missing: readonly { readonly resourceType: ResourceTypeName; readonly state: 'absent' | 'refused' }[];
};

/** What was written, as the work file remembers it. */
type Written = Converted & {
  readonly plan: Plan;
  readonly ownerId: number;
  readonly ownerEmail: string;
  readonly domain: string;
  readonly standing: Standing;
};

/**
 * Moves an account in: reads it, writes it as an export, imports that, and compares numbers at the end. Whatever cuts it
 * off, the next run goes on where it was.
 */
export async function moveIn(ports: MovePorts): Promise<Moved> {
  const written = (await takenUp(ports)) ?? (await readAndImport(ports));
  const compared: Compared[] = [];
  for (const resourceType of listed)
    if (ports.work.list(resourceType.name).state === 'read')
      compared.push(await compare(ports, resourceType.name, written));
  const missing = resourceTypes.flatMap(({ name: resourceType }) => {
    const { state } = ports.work.list(resourceType);
    return state === 'absent' || state === 'refused' ? [{ resourceType, state }] : [];
  });
  return { ...written, compared, missing };
}

async function readAndImport(ports: MovePorts): Promise<Written> {
  await ports.beside((store) => mustBeFree(store, ports.domain));
  const standing = await readAll(ports);
  return ports.alone(async (store) => {
    await refuseServed(store);
    const written = await write(ports, store, standing);
    if (ports.isStrict && written.leftOut + written.changed > 0)
      throw new TransferError(
        `${written.leftOut} records cannot come, and ${written.changed} not as they are: see ${ports.paths.report}. Nothing was brought in.`,
      );
    ports.work.setFact('written', written);
    await bringIn(ports, store, false);
    return written;
  });
}

/** An earlier run has come as far as the import: it is brought to its end, or was there already. */
async function takenUp(ports: MovePorts): Promise<Written | undefined> {
  const { work, alone } = ports;
  const written = work.fact<Written>('written');
  if (written === undefined) return undefined;
  const { domain, plan: planned, sha256 } = written;
  return alone(async (store) => {
    const unfinished = await findUnfinished(store.read);
    const isCutOff = unfinished?.checksum === sha256;
    const isIn = unfinished === undefined && (await findAccount(store, domain)) === planned.accountId;
    if (!isCutOff && !isIn) return undefined;
    if (domain !== ports.domain)
      throw new TransferError(
        `${work.path} is of an import as ${domain} that is in already: --as-domain ${domain} brings it to its end, --work with another file begins anew.`,
      );
    if (isCutOff) await bringIn(ports, store, true);
    return written;
  });
}

async function findAccount({ read }: Store, domain: string): Promise<number | undefined> {
  const row = await read.selectFrom('accounts').select('account_id').where('domain', '=', domain).executeTakeFirst();
  return row?.account_id;
}

async function mustBeFree(store: Store, domain: string): Promise<void> {
  if ((await findAccount(store, domain)) === undefined) return;
  throw new TransferError(`The domain ${domain} is taken in this database: --as-domain gives the account another one.`);
}

async function write(ports: MovePorts, store: Store, standing: Standing): Promise<Written> {
  const { work, domain, clock, progress, paths } = ports;
  await mustBeFree(store, domain);
  const planned = await plan(work, store, ports.ownerEmail);
  const now = clock.now();
  const file = fileOf(work);
  const converted = convert({ work, plan: planned, domain, now, progress, paths: { ...paths, file } });
  const ownerId = work.newId('users', planned.owner) ?? 0;
  const [owner] = work.all(
    `select json ->> 'email' as email from records where noun = 'users' and new_id = ?`,
    ownerId,
  );
  return { ...converted, plan: planned, ownerId, ownerEmail: String(owner?.email), domain, standing };
}

function fileOf(work: Work): string {
  return `${work.path}.jsonl`;
}

async function bringIn({ work, clock, progress }: MovePorts, store: Store, resume: boolean): Promise<void> {
  await importFrom({ store, path: fileOf(work), clock, progress, resume });
}

/** The source is asked once more how many there are; what it said last stands where it does not answer any more. */
async function compare(
  { source, work, beside, say }: MovePorts,
  resourceType: ResourceTypeName,
  written: Written,
): Promise<Compared> {
  const one = kept.find(({ name }) => name === resourceType);
  if (one === undefined) throw new Error(`${resourceType} has no rows`);
  const asked = await totalOf(source, one).catch((error: unknown) => {
    if (!(error instanceof TransferError)) throw error;
    say(error.message);
    return undefined;
  });
  const there = asked ?? work.list(resourceType).total ?? undefined;
  const rows = await beside((store) => countOf(store.read, one.table, written.plan.accountId));
  const { leftOut = 0, made = 0 } = written.counts[resourceType] ?? {};
  const here = rows - made;
  const isSame = there === undefined || there === here + leftOut;
  return { resourceType, there, isAsked: asked !== undefined, here, leftOut, made, isSame };
}
