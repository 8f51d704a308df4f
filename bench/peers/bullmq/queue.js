import { createPostgresBackend, Queue, Worker } from 'bullmq';

/** Uses BullMQ's PostgreSQL backend. */
export async function open({ address, post, atOnce }) {
  const options = { connection: { connectionString: address, max: 20, migrate: true } };
  const queue = new Queue('tell', options, createPostgresBackend);
  const worker = new Worker(
    'tell',
    ({ data }) => post(data.number),
    { ...options, concurrency: atOnce },
    createPostgresBackend,
  );
  worker.on('error', (error) => {
    throw error;
  });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return { add: (number) => queue.add('tell', { number }, { removeOnComplete: true }) };
}
