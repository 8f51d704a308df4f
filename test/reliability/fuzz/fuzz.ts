import type { TestStore } from '../../kit/service/stores.ts';
import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import { fuzzResponses } from './answers.ts';
import { inject } from './injections.ts';
import { sendMalformed } from './malformed.ts';

/** R11: every response is one that the OpenAPI document describes. */
export const fuzz: ReliabilityTest = {
  id: 'R11',
  name: 'fuzz',
  title: 'generated, malformed and hostile requests',
  promise: 'every response is one that the OpenAPI document has, and none is a 5xx',
  unit: 'requests',
  smoke: 20_000,
  full: 1_000_000,
  execute,
};

type Part = { readonly counts: Readonly<Record<string, number>>; readonly broken: readonly string[] };

async function execute(run: Run): Promise<RunResult> {
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const share = Math.ceil(run.count / run.stores.length);
  // The databases run concurrently: each waits mostly for its own service.
  const each = run.stores.map(async (store) => {
    const written = await corpora(store, run);
    return { store, parts: [written, await generated(store, Math.max(share - written.requests, 1_000), run)] };
  });
  for (const { store, parts } of await Promise.all(each)) {
    for (const part of parts) {
      for (const [what, count] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + count;
      broken.push(...part.broken.map((line) => `${store.name}: ${line}`));
    }
  }
  return { counts, broken };
}

/** Fixed inputs: malformed requests, and injection texts for every field. */
async function corpora(store: TestStore, { context, seed }: Run): Promise<Part & { requests: number }> {
  const service = await store.serviceProcess(context, { CARILLON_LOG_LEVEL: 'debug' });
  let logged = '';
  service.process.stderr?.on('data', (text: string) => {
    logged += text;
  });
  const { sent, broken } = await sendMalformed(service, seed);
  const injected = await inject({ ...service, logged: () => logged, context });
  const ended = await service.stop('SIGTERM');
  return {
    requests: sent + injected.requests,
    counts: {
      'malformed requests': sent,
      'requests with injection texts': injected.requests,
      'texts read back unchanged': injected.written,
    },
    broken: [...broken, ...injected.broken, ...(ended === 0 ? [] : [`the service exited with ${ended}`])],
  };
}

async function generated(store: TestStore, count: number, run: Run): Promise<Part> {
  const { requests, accepted, broken } = await fuzzResponses(store, count, run);
  return { counts: { 'generated requests': requests, 'of these, accepted': accepted }, broken };
}
