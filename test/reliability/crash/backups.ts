import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup, withCleanup } from '../../kit/cleanup.ts';
import { type PostgresServer, startPostgres } from '../../kit/database/postgres.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import { startProcess, startServiceProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { check, countViolations, formatViolation } from '../checker/check.ts';
import type { ClientCall } from '../checker/history.ts';
import type { ReliabilityTest } from '../reliability-test.ts';
import { type PartialResult, runInShards, type Shard } from '../shards.ts';
import {
  type Endpoint,
  HISTORY_BASE_URL,
  isResponse,
  OBSERVED_SERVICE_OPTIONS,
  type Observers,
  readDatabase,
  send,
  startObservers,
  untilDelivered,
} from '../workload/observers.ts';
import { type Backup, findRestoreDifferences, makeBaseBackup, pendingDeliveryIds } from './backup-checks.ts';

export const backups: ReliabilityTest = {
  id: 'R14',
  name: 'backups',
  title: 'C16 C20 backups are made under load, and a service is started on each restored backup',
  promise:
    'every occurrence has its record, every change acknowledged before the backup is in it, every pending delivery is delivered',
  unit: 'backups',
  quick: 2,
  full: 100,
  execute: (run) => runInShards(run, { maxPerShard: BACKUPS_PER_SERVICE, postgresShare: 0.3 }, runShard),
};

/** Number of backups of one service before the service is stopped and the backups are restored. */
const BACKUPS_PER_SERVICE = 10;

/** Number of records before the first backup, so that a backup takes long enough to overlap with writes. */
const RECORDS_BEFORE = 150;

/** How backups of a database are made and restored. */
type BackupMethod = {
  readonly address: string;
  make(number: number): Promise<string>;
  /** Returns the address of the restored database. */
  restore(context: Cleanup, backup: string, number: number): Promise<string>;
};

async function backupMethodFor(context: Cleanup, store: TestStore): Promise<BackupMethod> {
  if (store.name === 'PostgreSQL') {
    // The WAL must reach back to the start of the backup.
    const server = await startPostgres({ settings: ['wal_keep_size=256MB'] });
    atEnd(context, server.stop);
    return postgresBackupMethod(context, server);
  }
  const folder = createTemporaryFolder(context);
  const address = `sqlite:${join(folder, 'carillon.db')}`;
  return {
    address,
    async make(number) {
      const environment = { CARILLON_DATABASE: address };
      const { file } = await runCarillonJson(['backup', '--to', join(folder, `${number}.db`)], { environment });
      return file;
    },
    async restore(_context, backup, number) {
      const database = `sqlite:${join(folder, `restored-${number}`, 'carillon.db')}`;
      await runCarillonJson(['restore', '--database', database, '--from', backup]);
      return database;
    },
  };
}

/** Makes base backups of a running PostgreSQL server, with the WAL that makes them consistent. */
function postgresBackupMethod(context: Cleanup, server: PostgresServer): BackupMethod {
  return {
    address: server.url,
    async make(number) {
      // The backup is stored next to the data folder, where the system user of the server may write.
      const to = `${server.folder}-backup-${number}`;
      atEnd(context, () => rmSync(to, { recursive: true, force: true }));
      await makeBaseBackup(server, to);
      return to;
    },
    async restore(own, backup) {
      const restored = await startPostgres({ folder: backup });
      atEnd(own, restored.stop);
      await runCarillonJson(['restore', '--database', restored.url, '--after-restore']);
      return restored.url;
    },
  };
}

/** Makes backups under load, stops the service, then restores and checks one backup after the other. */
async function runShard({ context, store, times, random }: Shard): Promise<PartialResult> {
  const place = await backupMethodFor(context, store);
  const service = await startServiceProcess(context, place.address, OBSERVED_SERVICE_OPTIONS);
  const observers = await startObservers(context, { random });
  for (const path of ['/events', '/events-too']) await observers.subscribe(service, path, 'new_event');
  await observers.subscribe(service, '/clients', 'new_client');
  observers.routeTo(service);
  await observers.untilAcknowledged(RECORDS_BEFORE);
  const made: Backup[] = [];
  const failed: string[] = [];
  for (let number = 0; number < times; number += 1) {
    await wait(random.integerBelow(200));
    const beganAt = performance.now();
    const backup = await place.make(number).catch((error: unknown) => void failed.push(`C20 no backup: ${error}`));
    if (backup !== undefined) made.push({ backup, beganAt, endedAt: performance.now() });
  }
  // The cursor points after the first entry of the feed. Every backup contains entries after this position.
  const { next: cursor } = await fetchFeed(service, '?limit=1');
  observers.recover();
  await observers.stop();
  await untilDelivered(place.address);
  const code = await service.stop('SIGTERM');
  const faults = check(observers.history(await readDatabase(place.address, HISTORY_BASE_URL)));
  const { tally, calls } = observers;
  const broken = [
    ...failed,
    ...faults.map(formatViolation),
    ...tally.others.map((one) => `C20 a client got ${one}`),
    ...(code === 0 && tally.unanswered.length + tally.refused === 0
      ? []
      : [
          `C20 exit code ${code}, ${tally.unanswered.length + tally.refused} requests without a response, during a backup`,
        ]),
  ];
  const counts: Record<string, number> = {
    'backups restored': 0,
    acknowledged: tally.acknowledged,
    'acknowledged during a backup': made.flatMap((one) => calls.filter(isAnsweredDuring(one))).length,
    notifications: observers.arrivals.length,
    'records in the backups': 0,
    'pending in the backups': 0,
    'of these, delivered after the restore': 0,
    ...countViolations(faults),
  };
  const issued = issuedEventIds(calls);
  const { headers } = service;
  for (const [number, one] of made.entries()) {
    const found = await withCleanup((own) =>
      checkRestore(own, { place, one, number, observers, headers, issued, cursor }),
    );
    for (const [what, count] of Object.entries(found.counts)) counts[what] = (counts[what] ?? 0) + count;
    broken.push(...found.broken.map((line) => `backup ${number + 1} of ${times}: ${line}`));
  }
  return { counts, broken };
}

const isAnsweredDuring =
  ({ beganAt, endedAt }: Backup) =>
  ({ answeredAt = 0 }) =>
    beganAt <= answeredAt && answeredAt <= endedAt;

type RestoreContext = {
  readonly place: BackupMethod;
  readonly one: Backup;
  readonly number: number;
  readonly observers: Observers;
  readonly headers: Endpoint['headers'];
  /** Ids of all events that were ever created. */
  readonly issued: number[];
  /** A cursor that was issued before the restore. */
  readonly cursor: string;
};

/**
 * Restores one backup, checks its content, starts a service on it, waits for all pending deliveries, and
 * creates a new record.
 */
async function checkRestore(context: Cleanup, restoreContext: RestoreContext): Promise<PartialResult> {
  const { place, one, number, observers, headers, cursor } = restoreContext;
  const failed = (error: unknown) => ({ broken: [`C20 no restore: ${error}`] });
  const restored = await place.restore(context, one.backup, number).catch(failed);
  if (typeof restored !== 'string') return { counts: {}, ...restored };
  const address = restored;
  const database = await readDatabase(address, HISTORY_BASE_URL);
  const broken = await findRestoreDifferences(address, database, observers, one);
  const pending = await pendingDeliveryIds(address);
  const arrivalsBefore = observers.arrivals.length;
  const service = await startProcess({ CARILLON_DATABASE: address, CARILLON_PORT: '0', ...OBSERVED_SERVICE_OPTIONS });
  atEnd(context, () => service.process.kill('SIGKILL'));
  if (service.key !== undefined) broken.push('a new account was created');
  await untilDelivered(address);
  const received = observers.arrivals.slice(arrivalsBefore).filter(({ answer }) => answer === 200);
  const deliveredIds = new Set(received.map(({ deliveryId }) => deliveryId));
  const undelivered = pending.filter((deliveryId) => !deliveredIds.has(deliveryId));
  broken.push(...undelivered.map((deliveryId) => `C20 pending in the backup and not delivered: ${deliveryId}`));
  const unexpected = [...deliveredIds].filter((deliveryId) => !pending.includes(deliveryId));
  broken.push(...unexpected.map((deliveryId) => `C20 delivered and not pending in the backup: ${deliveryId}`));
  const endpoint = { baseUrl: service.baseUrl, headers };
  // The feed must be empty after a restore, because positions from before the restore are not issued again (X2).
  const empty = await fetchFeed(endpoint);
  broken.push(...(await createAfterRestore({ ...restoreContext, address, baseUrl: service.baseUrl })));
  const [old, since] = await Promise.all([
    fetchFeed(endpoint, `?after=${cursor}`),
    fetchFeed(endpoint, `?after=${empty.next}`),
  ]);
  if (empty.data.length > 0) broken.push(`X2 the feed contains ${empty.data.length} entries from before the restore`);
  if (old.status !== 410) broken.push(`X2 a cursor from before the restore got ${old.status}`);
  if (since.data.length !== 1) broken.push(`X2 the feed has ${since.data.length} entries since the restore, not one`);
  const code = await service.stop('SIGTERM');
  if (code !== 0) broken.push(`exit code ${code}`);
  const counts = {
    'backups restored': 1,
    'records in the backups': database.records.size,
    'pending in the backups': pending.length,
    'of these, delivered after the restore': pending.length - undelivered.length,
  };
  return { counts, broken };
}

/** Fetches a page of the feed (X2). */
async function fetchFeed({ baseUrl, headers }: Endpoint, query = '') {
  const answer = await fetch(`${baseUrl}/v2/notifications${query}`, { headers });
  const { data = [], next = '' } = (await answer.json()) as { data?: unknown[]; next?: string };
  return { status: answer.status, data, next };
}

/**
 * Creates a record after a restore. Its ids must never have been issued before: neither before the restore nor in
 * another restore (C5).
 */
async function createAfterRestore({
  observers,
  headers,
  baseUrl,
  address,
  issued,
}: RestoreContext & { baseUrl: string; address: string }) {
  const event = { event_name: 'After the restore', start_date: '20270101', due_date: '20270102' };
  const deliveries = Math.max(...observers.arrivals.map(({ deliveryId }) => Number(deliveryId)));
  const reply = await send({ baseUrl, headers }, ['POST', '/v2/events'], event);
  const eventId = isResponse(reply) ? String(reply.data.event_id) : 'none';
  await untilDelivered(address);
  const notifications = observers.arrivals.filter(({ body }) => body.endsWith(`/v2/events/${eventId}"}`));
  const broken: string[] = [];
  if (!(Number(eventId) > Math.max(...issued))) broken.push(`C5 an id was issued twice: ${eventId}`);
  if (notifications.length === 0) broken.push(`C20 created after the restore and not delivered: ${eventId}`);
  if (!notifications.every(({ deliveryId }) => Number(deliveryId) > deliveries))
    broken.push('C5 a Webhook-Id was issued twice');
  issued.push(Number(eventId));
  return broken;
}

/** Returns the ids of all events in the responses to clients. */
function issuedEventIds(calls: readonly ClientCall[]): number[] {
  const ids = calls.map((call) => /\/v2\/events\/(\d+)$/.exec('record' in call ? (call.record ?? '') : '')?.[1]);
  return ids.filter((id) => id !== undefined).map(Number);
}
