import { reliabilityTests } from '../reliability/index.ts';
import type { ReliabilityTest } from '../reliability/reliability-test.ts';
import { resultOf, type StoredResult } from '../reliability/results.ts';
import { derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';

const formatNumber = (value: number | string) => (typeof value === 'number' ? value.toLocaleString('en') : value);

const titleOf = ({ title }: ReliabilityTest) => title.replace(/^(?:[CX]\d+ )+/, '');

/** Derives docs/reliability.md: each promise with its test, number of runs and the last full result. */
export function reliabilityDocument(): string {
  const rows = reliabilityTests.map((proof) => ({ proof, result: resultOf(proof) }));
  return joinParts(
    derivedNotice('test/reliability/index.ts', 'test/reliability/results.json'),
    '# Reliability',
    'Carillon promises: an acknowledged change is delivered at least once to every hook that subscribes to it, and a rolled-back change never is. One caller or one target cannot harm the others. No account can read data of another account. Reliability tests check these promises over many runs:',
    markdownTable(
      ['', 'What is done', 'Must hold', 'Runs', 'Last result'],
      rows.map(({ proof, result }) => [
        proof.id,
        titleOf(proof),
        proof.promise,
        `${formatNumber(result?.count ?? proof.full)} ${proof.unit}`,
        resultText(result),
      ]),
    ),
    '## How losses are found',
    'Clients record every response, and receivers record every webhook, in processes that are never killed. After each run, both histories are compared with the database. An acknowledged change that is missing, a pending delivery that never arrives, and a webhook without an occurrence each fail the run. A delivery may arrive twice only if a process was killed while the delivery was in flight or before its result was committed.',
    'The tests themselves are tested, too. R4b plants bugs in a copy of the source, and a reliability test must find each of them. R17 plants mutations: each must make its test fail.',
    '## What was found',
    'Reliability tests found, for example, that a target with endless interim responses kept the service busy until the deadline (R9). [SECURITY](../SECURITY.md) and the [changelog](../CHANGELOG.md) list the findings, all of which are fixed.',
    ...missedPromises(rows),
    '## Run it',
    `${inlineCode('npm test')} runs a short form of each reliability test that needs only Node and npm. ${inlineCode('npm run prove')} runs the full forms, some of which need Linux, root or strace. ${inlineCode('npm run prove -- R1')} runs one test; ${inlineCode('--count')} sets the number of runs, and ${inlineCode('--seed')} repeats a run. ${inlineCode('npm run docs')} writes all counters of the last full runs to ${inlineCode('build/reliability.md')}.`,
  );
}

function resultText(result: StoredResult | undefined): string {
  if (result === undefined) return 'not run yet';
  if (result.lacks !== undefined) return `not run: ${result.lacks}`;
  return `${result.broken.length === 0 ? 'holds' : '**missed**'}, ${result.date}`;
}

type Row = { readonly proof: ReliabilityTest; readonly result: StoredResult | undefined };

function missedPromises(rows: readonly Row[]): string[] {
  const lines = rows
    .filter(({ result }) => (result?.broken.length ?? 0) > 0)
    .map(({ proof, result }) => `- ${proof.id}: ${result?.broken.join('; ')}. ${proof.heldBack ?? ''}`.trim());
  return lines.length === 0 ? [] : ['## What does not hold', lines.join('\n')];
}

/** Derives build/reliability.md, which is not committed: all counters of the last full runs. */
export function reliabilityReport(): string {
  return joinParts(
    '# Reliability report',
    ...reliabilityTests.map((proof) => ({ proof, result: resultOf(proof) })).map(testSection),
  );
}

function testSection({ proof, result }: Row): string {
  const parts = [
    `## ${proof.id}`,
    `${titleOf(proof)}. ${proof.promise}. ${inlineCode(`npm run prove -- ${proof.name}`)}`,
  ];
  if (result === undefined) return [...parts, 'The full form has not been run yet.'].join('\n\n');
  const { counts, broken, count, seed, seconds, date, commit, node, machine } = result;
  return [
    ...parts,
    markdownTable(
      ['Counter', 'Value'],
      Object.entries(counts).map(([name, value]) => [name, formatNumber(value)]),
    ),
    ...broken.slice(0, 20).map((line) => `- ${line}`),
    `${formatNumber(count)} ${proof.unit} in ${formatNumber(seconds)} s, seed ${seed}; source ${inlineCode(commit)}, Node ${node}, ${machine}; ${date}.`,
  ].join('\n\n');
}
