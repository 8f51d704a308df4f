import { Logger, makeWorkerUtils, run } from 'graphile-worker';

const logger = new Logger(() => () => undefined);

/** Configured as its performance guide recommends: a local queue, and batched completions. */
export async function open({ address: connectionString, post, atOnce }) {
  const utils = await makeWorkerUtils({ connectionString, maxPoolSize: 20, logger });
  await utils.migrate();
  const worker = {
    connectionString,
    maxPoolSize: 20,
    concurrentJobs: atOnce,
    localQueue: { size: 4 * atOnce },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger,
  };
  await run({ preset: { worker }, taskList: { tell: ({ number }) => post(number) } });
  return { add: (number) => utils.addJob('tell', { number }) };
}
