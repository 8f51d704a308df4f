import { setTimeout as wait } from 'node:timers/promises';
import type { Cleanup } from '../../test/harness/cleanup.ts';
import { carillon } from '../../test/harness/command.ts';
import type { TestStore } from '../../test/harness/stores.ts';
import { requestsOf } from '../overload.ts';
import { runGenerator } from './load.ts';

/** What an operator would grant an account: more than one needs, and little enough that to do it costs the others nothing. */
const LIMITS = { CARILLON_RATE_LIMIT_ACCOUNT_READS: '20/s', CARILLON_RATE_LIMIT_ACCOUNT_WRITES: '10/s' };

/** The noisy one asks with so many connections, each again as soon as it is answered, whatever it is answered. */
const NOISY_CONNECTIONS = 32;

/** The others ask so often in all, whatever happens. */
const OTHERS_A_SECOND = 60;

/** How long it has been noisy when the others are looked at: what it may ask for at once, as anybody, is used up by then. */
const NOISY_BEFORE_MS = 2_000;

/** Alone and beside in turn, so that what drifts on the machine is in both. */
const ROUNDS = 5;

export type Noise = { readonly aloneMs: number; readonly besideMs: number; readonly ratio: number };

/** How long the slowest hundredth of the calls of others takes, without a noisy account and beside it. */
export async function besideNoise(store: TestStore, context: Cleanup, seconds: number): Promise<Noise> {
  const service = await store.serviceProcess(context, LIMITS);
  const made = await carillon(
    ['accounts', 'create', '--domain', 'noisy.test', '--email', 'owner@noisy.test', '--json'],
    {
      environment: { CARILLON_DATABASE: service.database },
    },
  );
  const { key, domain } = JSON.parse(made.stdout) as { key: string; domain: string };
  const forMs = (seconds * 1_000) / ROUNDS / 2;
  const origin = service.baseUrl;
  const others = { origin, requests: requestsOf(service), connections: 16, rate: OTHERS_A_SECOND, forMs };
  const noisy = {
    origin,
    requests: requestsOf({ headers: { key, domain } }),
    connections: NOISY_CONNECTIONS,
    forMs: NOISY_BEFORE_MS + forMs + 1_000,
  };
  const times: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] };
  await runGenerator(context, { ...others, forMs: 1_000 }, service);
  for (let round = 0; round < ROUNDS; round += 1) {
    times.alone.push(...(await runGenerator(context, others, service)).answered.times);
    const noise = runGenerator(context, noisy, service);
    await wait(NOISY_BEFORE_MS);
    times.beside.push(...(await runGenerator(context, others, service)).answered.times);
    await noise;
  }
  const [aloneMs, besideMs] = [p99(times.alone), p99(times.beside)];
  return { aloneMs, besideMs, ratio: Math.round((besideMs / aloneMs) * 100) / 100 };
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length * 0.99)] ?? 0) * 10) / 10;
}
