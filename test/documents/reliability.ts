import { proofs } from '../reliability/index.ts';
import type { ReliabilityTest } from '../reliability/reliability-test.ts';
import { type Result, resultOf } from '../reliability/results.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

const number = (value: number | string) => (typeof value === 'number' ? value.toLocaleString('en') : value);

const titleOf = ({ title }: ReliabilityTest) => title.replace(/^(?:[CX]\d+ )+/, '');

/** Derives docs/reliability.md: each promise with its test, number of runs and the last full result. */
export function reliabilityDocument(): string {
  const rows = proofs.map((proof) => ({ proof, result: resultOf(proof) }));
  return document(
    derivedFrom('test/reliability/index.ts', 'test/reliability/results.json'),
    '# Reliability',
    'Carillon promises: an acknowledged change is delivered at least once to every hook that subscribes to it, and a rolled-back change never is. One caller or one target cannot harm the others. No account can read data of another account. Reliability tests check these promises over many runs:',
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
    'Clients record every response, and receivers record every notification, in processes that are never killed. After each run, both histories are compared with the database. An acknowledged change that is missing, a pending delivery that never arrives, and a notification without an occurrence each fail the run. A delivery may arrive twice only if it was in flight, or its result not yet committed, when a process was killed.',
    'The tests themselves are tested, too. R4b plants bugs in a copy of the source, and a reliability test must find each of them. R17 plants mutations, each of which must fail its test.',
    '## What was found',
    'Reliability tests found, for example, that a target with endless interim responses kept the service busy until the deadline (R9). [SECURITY](../SECURITY.md) and the [changelog](../CHANGELOG.md) list the findings, all of which are fixed.',
    ...missed(rows),
    '## Run it',
    `${code('npm test')} runs a short form of each reliability test that needs only Node and npm. ${code('npm run prove')} runs the full forms, some of which need Linux, root or strace. ${code('npm run prove -- R1')} runs one test; ${code('--count')} sets the number of runs, and ${code('--seed')} repeats a run. ${code('npm run docs')} writes all counters of the last full runs to ${code('build/reliability.md')}.`,
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

/** Derives build/reliability.md, which is not committed: all counters of the last full runs. */
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
