import { type Account, makeAccounts } from './accounts.ts';
import { type Database, processorSeconds, processorSecondsBelow, type Stage } from './environment.ts';
import { asFastAsDelivered, type Committing, deliveriesPerSecond } from './load/delivery-load.ts';
import { ask, Connection, createEvent, subscribe, wired } from './load/load-generator.ts';
import type { Receiver } from './receiver.ts';

/** The number of accounts, of hooks per account, and of connections that create events. */
export type Crowd = { readonly accounts: number; readonly hooksEach: number; readonly writers: number };

/** A database that contains the accounts and hooks of `crowd`. All hooks lead to one receiver. */
export type Crowded = {
  readonly crowd: Crowd;
  readonly database: Database;
  readonly address: string;
  readonly accounts: readonly Account[];
  readonly receiver: Receiver;
};

/**
 * The result of `measureDeliveryRate`, and the CPU time per delivery in microseconds, of the `services` and of
 * `PostgreSQL`.
 */
export type DeliveryRate = Awaited<ReturnType<typeof deliveriesPerSecond>> & {
  readonly micros: Readonly<Record<string, number>>;
};

/** Services on one database. Writer `n` uses service `n` modulo the number of services. */
export type DeliveryServices = {
  readonly pids: readonly (number | undefined)[];
  /**
   * Creates events for `forMs` milliseconds and measures their deliveries. By default, events are created as fast
   * as they are delivered.
   */
  tell(forMs: number, committing?: (write: (writer: number) => Promise<number>) => Committing): Promise<DeliveryRate>;
  stop(): Promise<void>;
};

export async function crowded(stage: Stage, receiver: Receiver, database: Database, crowd: Crowd): Promise<Crowded> {
  const address = await stage.newDatabase(database);
  const accounts = await makeAccounts(address, crowd.accounts);
  const { baseUrl, stop } = await stage.service(address);
  for (const [place, account] of accounts.entries()) {
    for (let hook = 1; hook <= crowd.hooksEach; hook += 1)
      await ask(baseUrl, subscribe(account, `${receiver.url}/count/${place}/${hook}`));
  }
  await stop('SIGTERM');
  return { crowd, database, address, accounts, receiver };
}

export async function startTellers(
  stage: Stage,
  { crowd, database, address, accounts, receiver }: Crowded,
  { processes = 1, options = {} }: { processes?: number; options?: Readonly<Record<string, string>> } = {},
): Promise<DeliveryServices> {
  const services = [await stage.service(address, options)];
  while (services.length < processes) services.push(await stage.service(address, options));
  const calls = services.map(({ baseUrl }) => accounts.map((account) => wired(baseUrl, createEvent(account))));
  const serviceOf = (writer: number) => services[writer % processes]?.baseUrl ?? '';
  const pids = services.map(({ process }) => process.pid);
  const cpuSeconds = (): Record<string, number> => ({
    services: pids.reduce<number>((sum, pid) => sum + processorSeconds(pid), 0),
    ...(stage.postgresPid !== undefined &&
      database === 'PostgreSQL' && { PostgreSQL: processorSecondsBelow(stage.postgresPid) }),
  });
  let nextCall = 0;
  return {
    pids,
    async tell(forMs, committing = (write) => asFastAsDelivered(write, crowd.writers)) {
      const connections = await Promise.all(
        Array.from({ length: crowd.writers }, (_, writer) => Connection.open(serviceOf(writer))),
      );
      const write = async (writer: number) => {
        nextCall += 1;
        const call = calls[writer % processes]?.[nextCall % accounts.length];
        if (call === undefined) throw new Error('there are calls');
        await connections[writer]?.ask(call);
        return crowd.hooksEach;
      };
      const before = cpuSeconds();
      const told = await deliveriesPerSecond(receiver, forMs, committing(write));
      const perDelivery = Object.entries(cpuSeconds()).map(([who, seconds]) => {
        return [who, ((seconds - (before[who] ?? 0)) * 1e6) / told.told] as const;
      });
      for (const connection of connections) connection.close();
      return { ...told, micros: Object.fromEntries(perDelivery) };
    },
    async stop() {
      for (const { stop } of services) await stop('SIGTERM');
    },
  };
}
