import { copySource, type Mutation, mutations, runMutation, runTest } from './mutations.ts';
import type { Figure, Proof, Run } from './reliability-test.ts';

/** Copies of the source that are broken and tested at the same time. */
const COPIES = 2;

/** Mistakes on purpose: a test that stays green with one asserts too little. */
export const mutationTable: Proof = {
  id: 'R17',
  name: 'mutations',
  title: 'mutations in a copy of the source, each with the test that must fail',
  promise: 'each mutation fails its test, and the test passes without it',
  unit: 'mutations',
  quick: undefined,
  long: mutations.length,
  prove,
};

async function prove({ count, say }: Run): Promise<Figure> {
  const chosen = mutations.slice(0, count);
  const broken: string[] = [];
  let caught = 0;
  const next = chosen[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: COPIES }, async () => {
      const copy = copySource();
      try {
        for (const mutation of next) {
          const line = (await faultOf(mutation, copy)) ?? '';
          if (line === '') caught += 1;
          else broken.push(line);
          say(line === '' ? `${mutation.says}: caught` : line);
        }
      } finally {
        copy.remove();
      }
    }),
  );
  return { counts: { mutations: chosen.length, caught }, broken };
}

/** What does not hold for a mutation; undefined when its test is green without it and red with it. */
async function faultOf(mutation: Mutation, copy: ReturnType<typeof copySource>): Promise<string | undefined> {
  const { says, caughtBy } = mutation;
  const sound = await runTest(caughtBy, copy.folder);
  if (sound.red.length > 0 || !sound.output.includes(`ok 1 - ${caughtBy.name}`))
    return `${says}: ${caughtBy.name} is not green without it: ${sound.output.slice(-1_000)}`;
  const { red, output } = await runMutation(mutation, copy);
  return red.includes(caughtBy.name) ? undefined : `${says}: ${caughtBy.name} stays green: ${output.slice(-1_000)}`;
}
