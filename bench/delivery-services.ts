import { type AccountCredentials, createAccounts } from './accounts.ts';
import { type BenchEnvironment, cpuSecondsOf, cpuSecondsWithChildren, type DatabaseKind } from './environment.ts';
import { type CommitLoop, commitAsFastAsDelivered, measureDeliveryRate } from './load/delivery-load.ts';
import { Connection, createEventRequest, sendOnce, serializeRequest, subscribeRequest } from './load/load-generator.ts';
import type { Receiver } from './receiver.ts';

/** The number of accounts, of hooks per account, and of connections that create events. */
export type LoadShape = { readonly accounts: number; readonly hooksEach: number; readonly writers: number };

/** A database that contains the accounts and hooks of `crowd`. All hooks lead to one receiver. */
export type PopulatedDatabase = {
  readonly crowd: LoadShape;
  readonly database: DatabaseKind;
  readonly address: string;
  readonly accounts: readonly AccountCredentials[];
  readonly receiver: Receiver;
};

/**
 * The result of `measureDeliveryRate`, and the CPU time per delivery in microseconds, of the `services` and of
 * `PostgreSQL`.
 */
export type DeliveryRate = Awaited<ReturnType<typeof measureDeliveryRate>> & {
  readonly micros: Readonly<Record<string, number>>;
};

/** Services on one database. Writer `n` uses service `n` modulo the number of services. */
export type DeliveryServices = {
  readonly pids: readonly (number | undefined)[];
  /**
   * Creates events for `forMs` milliseconds and measures their deliveries. By default, events are created as fast
   * as they are delivered.
   */
  measureDeliveries(
    forMs: number,
    committing?: (write: (writer: number) => Promise<number>) => CommitLoop,
  ): Promise<DeliveryRate>;
  stop(): Promise<void>;
};

export async function populateDatabase(
  stage: BenchEnvironment,
  receiver: Receiver,
  database: DatabaseKind,
  crowd: LoadShape,
): Promise<PopulatedDatabase> {
  const address = await stage.newDatabase(database);
  const accounts = await createAccounts(address, crowd.accounts);
  const { baseUrl, stop } = await stage.startService(address);
  for (const [place, account] of accounts.entries()) {
    for (let hook = 1; hook <= crowd.hooksEach; hook += 1)
      await sendOnce(baseUrl, subscribeRequest(account, `${receiver.url}/count/${place}/${hook}`));
  }
  await stop('SIGTERM');
  return { crowd, database, address, accounts, receiver };
}

export async function startDeliveryServices(
  stage: BenchEnvironment,
  { crowd, database, address, accounts, receiver }: PopulatedDatabase,
  { processes = 1, options = {} }: { processes?: number; options?: Readonly<Record<string, string>> } = {},
): Promise<DeliveryServices> {
  const services = [await stage.startService(address, options)];
  while (services.length < processes) services.push(await stage.startService(address, options));
  const calls = services.map(({ baseUrl }) =>
    accounts.map((account) => serializeRequest(baseUrl, createEventRequest(account))),
  );
  const serviceOf = (writer: number) => services[writer % processes]?.baseUrl ?? '';
  const pids = services.map(({ process }) => process.pid);
  const cpuSeconds = (): Record<string, number> => ({
    services: pids.reduce<number>((sum, pid) => sum + cpuSecondsOf(pid), 0),
    ...(stage.postgresPid !== undefined &&
      database === 'PostgreSQL' && { PostgreSQL: cpuSecondsWithChildren(stage.postgresPid) }),
  });
  let callCount = 0;
  return {
    pids,
    async measureDeliveries(forMs, committing = (write) => commitAsFastAsDelivered(write, crowd.writers)) {
      const connections = await Promise.all(
        Array.from({ length: crowd.writers }, (_, writer) => Connection.open(serviceOf(writer))),
      );
      const write = async (writer: number) => {
        callCount += 1;
        const call = calls[writer % processes]?.[callCount % accounts.length];
        if (call === undefined) throw new Error('there are calls');
        await connections[writer]?.send(call);
        return crowd.hooksEach;
      };
      const before = cpuSeconds();
      const measured = await measureDeliveryRate(receiver, forMs, committing(write));
      const perDelivery = Object.entries(cpuSeconds()).map(([processKind, seconds]) => {
        return [processKind, ((seconds - (before[processKind] ?? 0)) * 1e6) / measured.delivered] as const;
      });
      for (const connection of connections) connection.close();
      return { ...measured, micros: Object.fromEntries(perDelivery) };
    },
    async stop() {
      for (const { stop } of services) await stop('SIGTERM');
    },
  };
}
