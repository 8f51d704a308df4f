import { copySource, type Mutation, mutations, runMutation, runTest } from './mutations.ts';
import type { ReliabilityTest, Run, RunResult } from './reliability-test.ts';

/** Copies of the source that are mutated and tested concurrently. */
const COPIES = 2;

/** R17: a test that passes with its mutation asserts too little. */
export const mutationTable: ReliabilityTest = {
  id: 'R17',
  name: 'mutations',
  title: 'mutations in a copy of the source, each with the test that must fail',
  promise: 'each mutation fails its test, and the test passes without it',
  unit: 'mutations',
  smoke: undefined,
  full: mutations.length,
  execute: executeTable,
};

async function executeTable({ count, log }: Run): Promise<RunResult> {
  const chosen = mutations.slice(0, count);
  const broken: string[] = [];
  let caught = 0;
  const next = chosen[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: COPIES }, async () => {
      const copy = copySource();
      try {
        for (const mutation of next) {
          const line = (await faultIn(mutation, copy)) ?? '';
          if (line === '') caught += 1;
          else broken.push(line);
          log(line === '' ? `${mutation.says}: caught` : line);
        }
      } finally {
        copy.remove();
      }
    }),
  );
  return { counts: { mutations: chosen.length, caught }, broken };
}

/** Returns why a mutation is not caught; undefined if its test passes without it and fails with it. */
async function faultIn(mutation: Mutation, copy: ReturnType<typeof copySource>): Promise<string | undefined> {
  const { says, caughtBy } = mutation;
  const unmutated = await runTest(caughtBy, copy.folder);
  if (unmutated.red.length > 0 || !unmutated.output.includes(`ok 1 - ${caughtBy.name}`))
    return `${says}: ${caughtBy.name} does not pass without it: ${unmutated.output.slice(-1_000)}`;
  const { red, output } = await runMutation(mutation, copy);
  return red.includes(caughtBy.name) ? undefined : `${says}: ${caughtBy.name} still passes: ${output.slice(-1_000)}`;
}
