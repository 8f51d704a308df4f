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
    'Carillon promises: An acknowledged change is delivered at least once to every hook that subscribes to it. A rolled-back change is never delivered. One caller or one target cannot harm the others. No account can read data of another account. Reliability tests check these promises over many runs:',
    markdownTable(
      ['Test', 'What happens', 'What must hold', 'Runs', 'Last result'],
      rows.map(({ proof, result }) => [
        proof.id,
        titleOf(proof),
        proof.promise,
        `${formatNumber(result?.count ?? proof.full)} ${proof.unit}`,
        resultText(result),
      ]),
    ),
    '## How losses are found',
    'During a run, clients record every response of the service, and receivers record every webhook. These processes are never killed. After the run, the test compares both records with the database. The run fails if an acknowledged change is missing in the database, if a pending delivery never arrives, or if a webhook has no occurrence. A delivery may arrive twice only if a process was killed while the delivery was in flight or its result was not committed yet.',
    'Two tests check the other tests: R4b plants bugs, each of which a reliability test must find, and R17 plants small mistakes (mutations), each of which an ordinary test must find.',
    '## What was found',
    'R9 found, for example, that a target could keep the service busy until the deadline by sending interim (1xx) responses without end. [SECURITY](../SECURITY.md) and the [changelog](../CHANGELOG.md) list all findings. All of them are fixed.',
    ...missedPromises(rows),
    '## Run it',
    `${inlineCode('npm run prove -- --quick')} runs a short form of the tests that need only Node and npm, as continuous integration does for each change. ${inlineCode('npm run prove')} runs the full forms of all tests. Some of these need Linux, root or strace. ${inlineCode('npm run prove -- R1')} runs one test. Its flag ${inlineCode('--count')} sets the number of runs, and ${inlineCode('--seed')} repeats a run that used this seed. ${inlineCode('npm run docs')} writes all counters of the last full runs to ${inlineCode('build/reliability.md')}.`,
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
    .map(({ proof, result }) => `- **${proof.id}**: ${proof.heldBack ?? ''} Measured: ${result?.broken.join('; ')}.`);
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
