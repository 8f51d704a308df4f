import { type Account, makeAccounts } from './accounts.ts';
import type { Database, Stage } from './environment.ts';
import { createEvent, subscribe } from './load/calls.ts';
import { ask, Connection, wired } from './load/connection.ts';
import { asFastAsTold, type Committing, toldPerSecond } from './load/delivery-load.ts';
import { processorSeconds, processorSecondsBelow } from './processor.ts';
import type { Receiver } from './receiver.ts';

/** How many accounts there are, how many hooks each of them has, and how many connections create events for them. */
export type Crowd = { readonly accounts: number; readonly hooksEach: number; readonly writers: number };

/** A database with a crowd in it, whose hooks all lead to one receiver. */
export type Crowded = {
  readonly crowd: Crowd;
  readonly database: Database;
  readonly address: string;
  readonly accounts: readonly Account[];
  readonly receiver: Receiver;
};

/** What was told: see `toldPerSecond`; and what each cost in processor, microseconds, by who has spent them. */
export type Told = Awaited<ReturnType<typeof toldPerSecond>> & { readonly micros: Readonly<Record<string, number>> };

/** One of them or several, on one database, each of which is asked by its part of the writers. */
export type Tellers = {
  readonly pids: readonly (number | undefined)[];
  /** As fast as it is told, unless it is said how. */
  tell(forMs: number, committing?: (write: (writer: number) => Promise<number>) => Committing): Promise<Told>;
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
): Promise<Tellers> {
  const services = [await stage.service(address, options)];
  while (services.length < processes) services.push(await stage.service(address, options));
  const calls = services.map(({ baseUrl }) => accounts.map((account) => wired(baseUrl, createEvent(account))));
  const serviceOf = (writer: number) => services[writer % processes]?.baseUrl ?? '';
  const pids = services.map(({ process }) => process.pid);
  const spent = (): Record<string, number> => ({
    services: pids.reduce<number>((sum, pid) => sum + processorSeconds(pid), 0),
    ...(stage.postgresPid !== undefined &&
      database === 'PostgreSQL' && { PostgreSQL: processorSecondsBelow(stage.postgresPid) }),
  });
  let turn = 0;
  return {
    pids,
    async tell(forMs, committing = (write) => asFastAsTold(write, crowd.writers)) {
      const connections = await Promise.all(
        Array.from({ length: crowd.writers }, (_, writer) => Connection.open(serviceOf(writer))),
      );
      const write = async (writer: number) => {
        turn += 1;
        const call = calls[writer % processes]?.[turn % accounts.length];
        if (call === undefined) throw new Error('there are calls');
        await connections[writer]?.ask(call);
        return crowd.hooksEach;
      };
      const before = spent();
      const told = await toldPerSecond(receiver, forMs, committing(write));
      const each = Object.entries(spent()).map(([who, seconds]) => {
        return [who, ((seconds - (before[who] ?? 0)) * 1e6) / told.told] as const;
      });
      for (const connection of connections) connection.close();
      return { ...told, micros: Object.fromEntries(each) };
    },
    async stop() {
      for (const { stop } of services) await stop('SIGTERM');
    },
  };
}
