import { PgBoss } from 'pg-boss';

const BATCH_SIZE = 64;

/** Batches are fetched one after the other while they are full; otherwise a notification wakes the worker. */
export async function open({ address, post, atOnce }) {
  const boss = new PgBoss({ connectionString: address, max: 20, useListenNotify: true });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue('tell', { notify: true });
  await boss.work(
    'tell',
    {
      batchSize: BATCH_SIZE,
      localConcurrency: Math.max(1, atOnce / BATCH_SIZE),
      pollingIntervalSeconds: 0.5,
      burstWhenBatchFull: true,
    },
    (jobs) => Promise.all(jobs.map(({ data }) => post(data.number))),
  );
  return { add: (number) => boss.send('tell', { number }) };
}
