import { PgBoss } from 'pg-boss';

const BATCH = 64;

/** Batches, fetched one after the other while they are full, and woken where they are not. */
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
      batchSize: BATCH,
      localConcurrency: Math.max(1, atOnce / BATCH),
      pollingIntervalSeconds: 0.5,
      burstWhenBatchFull: true,
    },
    (jobs) => Promise.all(jobs.map(({ data }) => post(data.number))),
  );
  return { add: (number) => boss.send('tell', { number }) };
}
