import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { Store } from '../../../src/store/store.ts';
import { atEnd, type Cleanup } from '../cleanup.ts';
import type { ApiUser, TestService } from './service.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';

/** Returns the same user with a client that calls another node. */
export function userAtNode({ baseUrl }: { readonly baseUrl: string }, { domain, key, ...rest }: ApiUser): ApiUser {
  return { ...rest, domain, key, carillon: new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 }) };
}

/**
 * Starts another process on the same database, with a client of the same account.
 *
 * @param start a function that starts another version
 */
export async function startSecondNode(
  context: Cleanup,
  { database, headers }: Pick<ServiceProcess, 'database' | 'headers'>,
  options: Readonly<Record<string, string>> = {},
  start: typeof startProcess = startProcess,
): Promise<ServiceProcess> {
  const started = await start({ CARILLON_DATABASE: database, CARILLON_PORT: '0', ...options });
  atEnd(context, () => started.process.kill('SIGKILL'));
  const { domain = '', key = '' } = headers;
  const carillon = new Carillon({ baseUrl: started.baseUrl, auth: apiKey({ domain, key }), retries: 0 });
  return { ...started, database, carillon, headers };
}

/** Returns the node that holds the lease of each hook queue, by hook id; 0 if no node holds it. */
export async function readLeaseOwners({ read }: Pick<Store, 'read'>): Promise<ReadonlyMap<string, number>> {
  const rows = await read.selectFrom('hooks').select(['hook_id', 'lease_owner']).execute();
  return new Map(rows.map((row) => [String(row.hook_id), row.lease_owner]));
}

/** Returns the ids of the registered nodes, oldest first. */
export async function readRegisteredNodeIds({ read }: Pick<Store, 'read'>): Promise<number[]> {
  const rows = await read.selectFrom('nodes').select('node_id').orderBy('node_id').execute();
  return rows.map((row) => row.node_id);
}

/** Returns the ids of the pending deliveries of live hooks. */
export async function readPendingDeliveryIds({ read }: Pick<Store, 'read'>): Promise<ReadonlySet<string>> {
  const rows = await read
    .selectFrom('pending_deliveries')
    .innerJoin('hooks', 'hooks.hook_id', 'pending_deliveries.hook_id')
    .where('hooks.date_ended', 'is', null)
    .select('pending_deliveries.delivery_id')
    .execute();
  return new Set(rows.map((row) => String(row.delivery_id)));
}

/** Returns the number of log lines with this event name. */
export function countLogLines({ logged }: Pick<TestService, 'logged'>, event: string): number {
  return logged.filter((line) => line.event === event).length;
}
