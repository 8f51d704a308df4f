import { proofs } from '../reliability/index.ts';
import type { ReliabilityTest } from '../reliability/reliability-test.ts';
import { type Result, resultOf } from '../reliability/results.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

const number = (value: number | string) => (typeof value === 'number' ? value.toLocaleString('en') : value);

const titleOf = ({ title }: ReliabilityTest) => title.replace(/^(?:[CX]\d+ )+/, '');

/** docs/reliability.md: each promise with its test, number of runs and the last full result. */
export function reliabilityDocument(): string {
  const rows = proofs.map((proof) => ({ proof, result: resultOf(proof) }));
  return document(
    derivedFrom('test/reliability/index.ts', 'test/reliability/results.json'),
    '# Reliability',
    'Carillon promises: an acknowledged change is delivered at least once to every hook that subscribes to it, and a rolled-back change never is. One caller or one target cannot harm the others. No account can read data of another account. These runs test the promises:',
    table(
      ['', 'What is done', 'Must hold', 'Runs', 'Last result'],
      rows.map(({ proof, result }) => [
        proof.id,
        titleOf(proof),
        proof.promise,
        `${number(result?.count ?? proof.full)} ${proof.unit}`,
        resultText(result),
      ]),
    ),
    '## How losses are found',
    'Clients record every response and receivers every notification, each in its own process that is never killed. After each run, both histories are compared with the database. An acknowledged change that is missing, a pending delivery that never arrives, and a notification without an occurrence each fail the run. A delivery may arrive twice only when it was in flight, or not yet committed, at a kill.',
    'The checker itself is tested: each bug planted in a copy of the source must be found by the run that is meant to find it (R4b); mutations must fail the tests next to them (R17).',
    '## What was found',
    'R9 found that a target that floods with interim responses kept the service busy until the deadline. R16 found that 32 programs that read one large calendar grew the process beyond 512 MiB. Both are fixed; [SECURITY](../SECURITY.md) and the [changelog](../CHANGELOG.md) list the other findings.',
    ...missed(rows),
    '## Run it',
    `${code('npm test')} runs a short form of all that need nothing but Node and npm. ${code('npm run prove')} runs the full forms; some need Linux, root or strace. ${code('npm run prove -- R1')} runs one, ${code('--count')} and ${code('--seed')} make it shorter or repeat it. ${code('npm run docs')} writes all counters of the last full runs to ${code('build/reliability.md')}.`,
  );
}

function resultText(result: Result | undefined): string {
  if (result === undefined) return 'not run yet';
  if (result.lacks !== undefined) return `not run: ${result.lacks}`;
  return `${result.broken.length === 0 ? 'holds' : '**missed**'}, ${result.date}`;
}

type Row = { readonly proof: ReliabilityTest; readonly result: Result | undefined };

function missed(rows: readonly Row[]): string[] {
  const lines = rows
    .filter(({ result }) => (result?.broken.length ?? 0) > 0)
    .map(({ proof, result }) => `- ${proof.id}: ${result?.broken.join('; ')}. ${proof.heldBack ?? ''}`.trim());
  return lines.length === 0 ? [] : ['## What does not hold', lines.join('\n')];
}

/** build/reliability.md, not committed: all counters of the last full runs. */
export function reliabilityReport(): string {
  return document('# Reliability report', ...proofs.map((proof) => ({ proof, result: resultOf(proof) })).map(section));
}

function section({ proof, result }: Row): string {
  const parts = [`## ${proof.id}`, `${titleOf(proof)}. ${proof.promise}. ${code(`npm run prove -- ${proof.name}`)}`];
  if (result === undefined) return [...parts, 'The full form has not been run yet.'].join('\n\n');
  const { counts, broken, count, seed, seconds, date, commit, node, machine } = result;
  return [
    ...parts,
    table(
      ['Counter', 'Value'],
      Object.entries(counts).map(([name, value]) => [name, number(value)]),
    ),
    ...broken.slice(0, 20).map((line) => `- ${line}`),
    `${number(count)} ${proof.unit} in ${number(seconds)} s, seed ${seed}; source ${code(commit)}, Node ${node}, ${machine}; ${date}.`,
  ].join('\n\n');
}
