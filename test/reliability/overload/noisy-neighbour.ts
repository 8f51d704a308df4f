import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Cleanup } from '../../kit/cleanup.ts';
import { runCarillonJson } from '../../kit/service/command.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import type { LoadResult } from './generator.ts';
import { createLoadRequests, runGenerator } from './load.ts';

const operatingGuide = new URL('../../../docs/operating.md', import.meta.url);

/** Number of connections of the noisy account. Each connection sends its next request after any response. */
const NOISY_CONNECTIONS = 32;

/** Number of other accounts. */
const OTHER_ACCOUNTS = 8;
/** Rate of each other account, within its own limits. */
const OTHER_CALLS_PER_SECOND = 15;

/** Maximum p99 of the other accounts with the noisy account, relative to their p99 without it. */
const MAX_SLOWDOWN = 1.2;

/** Minimum number of calls for a meaningful p99. */
const MIN_CALLS = 5_000;

/**
 * Duration of the noise before the other accounts are measured, in the first round and in later rounds. By then
 * the noisy account has used up its burst allowance.
 */
const NOISY_BEFORE_MS = { first: 15_000, later: 3_000 };

/** Rounds with and without noise alternate, so that drift of the machine affects both. */
const ROUNDS = 10;

/** Result of the other accounts: the number of their calls, and the median of the p99 of all rounds in milliseconds. */
type OthersResult = { readonly calls: number; readonly p99: number; readonly wrong: readonly string[] };

/** Responses per second to the noisy account. */
type NoisyResult = { readonly answered: number; readonly refused: number };

export type NoiseMeasurement = {
  readonly withoutNoise: OthersResult;
  readonly withNoise: OthersResult;
  readonly noisy: NoisyResult;
  readonly limits: string;
};

/** Measures the p99 of the other accounts, with and without a noisy account. */
export async function measureNoise(store: TestStore, context: Cleanup, seconds: number): Promise<NoiseMeasurement> {
  const limits = recommendedRates();
  const service = await store.serviceProcess(context, limits);
  const account = async (domain: string): Promise<Record<string, string>> => {
    const command = ['accounts', 'create', '--domain', domain, '--email', `owner@${domain}`];
    const { key } = await runCarillonJson([...command, '--database', service.database]);
    return { key, domain };
  };
  const otherCredentials: Record<string, string>[] = [];
  for (let one = 1; one <= OTHER_ACCOUNTS; one += 1) otherCredentials.push(await account(`quiet-${one}.test`));
  const durationMs = (seconds * 1_000) / ROUNDS / 2;
  const origin = service.baseUrl;
  const others = {
    origin,
    requests: otherCredentials.flatMap((headers) => createLoadRequests({ headers })),
    connections: 2 * OTHER_ACCOUNTS,
    rate: OTHER_ACCOUNTS * OTHER_CALLS_PER_SECOND,
    durationMs,
  };
  const noisy = {
    origin,
    requests: createLoadRequests({ headers: await account('noisy.test') }),
    connections: NOISY_CONNECTIONS,
  };
  const results: Record<'alone' | 'beside' | 'noisy', LoadResult[]> = { alone: [], beside: [], noisy: [] };
  let noisyMs = 0;
  await runGenerator(context, { ...others, durationMs: 1_000 }, service);
  for (let round = 0; round < ROUNDS; round += 1) {
    results.alone.push((await runGenerator(context, others, service)).answered);
    const beforeMs = round === 0 ? NOISY_BEFORE_MS.first : NOISY_BEFORE_MS.later;
    const noiseMs = beforeMs + durationMs + 1_000;
    const noise = runGenerator(context, { ...noisy, durationMs: noiseMs }, service);
    await wait(beforeMs);
    results.beside.push((await runGenerator(context, others, service)).answered);
    results.noisy.push((await noise).answered);
    noisyMs += noiseMs;
  }
  const settings = Object.entries(limits).map(([name, value]) => `${name}=${value}`);
  return {
    withoutNoise: summarizeOthers(results.alone),
    withNoise: summarizeOthers(results.beside),
    noisy: summarizeNoisy(results.noisy, noisyMs),
    limits: `${settings.join(', ')}, as docs/operating.md has them; without limits, who asks the most is answered the most`,
  };
}

/** Reads the rate limits that the operating guide recommends for accounts that do not trust each other. */
function recommendedRates(): Record<string, string> {
  const found = [...readFileSync(operatingGuide, 'utf8').matchAll(/^(CARILLON_RATE_LIMIT_\w+)=(\S+)$/gm)];
  if (found.length === 0) throw new Error(`${operatingGuide.pathname} recommends no rates`);
  return Object.fromEntries(found.map(([, name, rate]) => [name, rate]));
}

function summarizeNoisy(all: readonly LoadResult[], ms: number): NoisyResult {
  const ratePerSecond = (...statuses: number[]) => {
    const counted = all.flatMap(({ byStatus }) => statuses.map((status) => byStatus[status] ?? 0));
    return Math.round((counted.reduce((a, b) => a + b, 0) * 1_000) / ms);
  };
  return { answered: ratePerSecond(200, 201), refused: ratePerSecond(429) };
}

export function summarizeOthers(all: readonly LoadResult[]): OthersResult {
  const p99s = all.map(({ p99 }) => p99).sort((a, b) => a - b);
  const wrong = all.flatMap(({ byStatus, unanswered, unsent }) => [
    ...Object.entries(byStatus)
      .filter(([status]) => !['200', '201'].includes(status))
      .map(([status, count]) => `${count} calls of the other accounts got ${status}`),
    ...(unanswered + unsent > 0 ? [`${unanswered + unsent} calls of the other accounts had no response`] : []),
  ]);
  const calls = all.reduce((sum, { times }) => sum + times.length, 0);
  return { calls, p99: p99s[p99s.length >> 1] ?? Number.NaN, wrong };
}

/** Returns the violations. */
export function checkNoise({ withoutNoise, withNoise, noisy }: NoiseMeasurement): string[] {
  const broken = [...withoutNoise.wrong, ...withNoise.wrong];
  for (const { calls } of [withoutNoise, withNoise])
    if (calls < MIN_CALLS) broken.push(`only ${calls} calls of the other accounts`);
  if (noisy.refused === 0) broken.push('no request of the noisy account was rejected');
  if (!(withNoise.p99 <= MAX_SLOWDOWN * withoutNoise.p99)) {
    broken.push(
      `p99 of the other accounts is ${withNoise.p99} ms beside a noisy account, and ${withoutNoise.p99} ms without it`,
    );
  }
  return broken;
}
