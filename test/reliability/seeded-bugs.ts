import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  copySource,
  type Mutation,
  mutations,
  runMutation,
  runTest,
  type SourceCopy,
  withMutation,
} from './mutations.ts';
import type { ReliabilityTest, RunParameters, RunResult } from './reliability-test.ts';

/** Mutations that a reliability test has to find, in addition to their unit test. */
const seededBugs = mutations.filter((mutation) => mutation.planted !== undefined);

/**
 * Reliability test R4b: every seeded bug must be found. A reliability test that overlooks a seeded bug proves
 * nothing.
 */
export const seededBugTest: ReliabilityTest = {
  id: 'R4b',
  name: 'planted',
  title: 'a bug is planted in a copy of the source, and the reliability test that must find it runs',
  promise: 'the reliability test finds every bug, and passes without the bug',
  unit: 'seeded bugs',
  quick: undefined,
  full: seededBugs.length,
  execute,
};

async function execute({ count, seed, log }: RunParameters): Promise<RunResult> {
  const copy = copySource();
  const counts: Record<string, number | string> = { 'seeded bugs': 0, caught: 0 };
  const broken: string[] = [];
  const passingWithout = new Set<string>();
  try {
    for (const mutation of seededBugs.slice(0, count)) {
      const { description, planted } = mutation;
      if (planted === undefined) continue;
      const { proof, count: times, expectedFault } = planted;
      const testArguments = [proof, '--count', String(times), '--seed', String(seed)];
      if (!passingWithout.has(testArguments.join())) {
        const { faults, output } = await runReliabilityTest(copy, testArguments);
        if (faults.length > 0 || !output.includes('  holds')) broken.push(`${proof} fails without the bug: ${output}`);
        passingWithout.add(testArguments.join());
      }
      const { faults, output } = await withMutation(mutation, copy, () => runReliabilityTest(copy, testArguments));
      const seen = faults.find((fault) => expectedFault.test(fault));
      counts['seeded bugs'] = Number(counts['seeded bugs']) + 1;
      if (seen === undefined)
        broken.push(`${description}: not found by ${testArguments.join(' ')}: ${output.slice(-2_000)}`);
      else counts.caught = Number(counts.caught) + 1;
      counts[description] = seen === undefined ? 'not caught' : `${proof}: ${shortenViolation(seen)}`;
      log(`${description}: ${counts[description]}`);
    }
  } finally {
    copy.remove();
  }
  return { counts, broken };
}

/**
 * Runs a reliability test in a copy of the source. Returns the violations that it reports. A run that aborts has
 * found nothing.
 */
async function runReliabilityTest(
  { folder }: SourceCopy,
  args: readonly string[],
): Promise<{ faults: string[]; output: string }> {
  const child = spawn(process.execPath, [join(folder, 'test/reliability/run.ts'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const faults = [...output.matchAll(/^ *BROKEN: (.*)$/gm)]
    .map(([, fault = '']) => fault)
    .filter((fault) => !/^(\w+: )?aborted/.test(fault));
  return { faults, output: output + errors };
}

/**
 * Shortens a violation, and drops the command that repeats the run, because that command would run the unmodified
 * source.
 */
function shortenViolation(line: string): string {
  const description = line.replace(/ \(npm run .*$/, '');
  return description.length > 120 ? `${description.slice(0, 119)}…` : description;
}

/** Number of copies of the source that are mutated and tested concurrently. */
const COPY_COUNT = 2;

/** Reliability test R17: every mutation must fail its test. A test that passes with its mutation asserts too little. */
export const mutationTest: ReliabilityTest = {
  id: 'R17',
  name: 'mutations',
  title: 'a small mistake (mutation) is made in a copy of the source, and the test that must find it runs',
  promise: 'the test fails with the mutation, and passes without it',
  unit: 'mutations',
  quick: undefined,
  full: mutations.length,
  execute: executeMutations,
};

async function executeMutations({ count, log }: RunParameters): Promise<RunResult> {
  const chosen = mutations.slice(0, count);
  const broken: string[] = [];
  let caught = 0;
  const next = chosen[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: COPY_COUNT }, async () => {
      const copy = copySource();
      try {
        for (const mutation of next) {
          const line = (await findMutationFault(mutation, copy)) ?? '';
          if (line === '') caught += 1;
          else broken.push(line);
          log(line === '' ? `${mutation.description}: caught` : line);
        }
      } finally {
        copy.remove();
      }
    }),
  );
  return { counts: { mutations: chosen.length, caught }, broken };
}

/**
 * Returns the reason for which a mutation is not caught, or undefined if its test passes without the mutation and
 * fails with it.
 */
async function findMutationFault(mutation: Mutation, copy: ReturnType<typeof copySource>): Promise<string | undefined> {
  const { description, caughtBy } = mutation;
  const unmutated = await runTest(caughtBy, copy.folder);
  if (unmutated.result !== 'passed')
    return `${description}: without it, ${caughtBy.name} ${unmutated.result}: ${unmutated.report}`;
  const mutated = await runMutation(mutation, copy);
  if (mutated.result !== 'failed')
    return `${description}: with it, ${caughtBy.name} ${mutated.result}: ${mutated.report}`;
  // A renamed identifier would make the test fail for a reason other than the bug.
  const [brokenCode] = /^.*\b(?:ReferenceError|SyntaxError|TypeError)\b.*$/m.exec(mutated.report) ?? [];
  return brokenCode === undefined ? undefined : `${description}: the mutated code does not run: ${brokenCode.trim()}`;
}
