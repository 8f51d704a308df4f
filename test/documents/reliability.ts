import { proofs } from '../reliability/index.ts';
import type { Proof } from '../reliability/reliability-test.ts';
import { quickResult, type Result, resultOf } from '../reliability/results.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

const number = (value: number | string) => (typeof value === 'number' ? value.toLocaleString('en') : value);

/** What is promised and counted: each proof, what its long form came to when it was run last, and how to run it again. */
export function reliabilityDocument(): string {
  const rows = proofs.map((proof) => ({ proof, result: resultOf(proof) }));
  return document(
    '# Reliability and security, counted',
    derivedFrom('test/reliability/index.ts', 'test/reliability/results/'),
    'What happens to work that was acknowledged when the process is killed, the power goes, the disk is full, or whoever is on the other side is hostile? Each row below does that, so many times, and counts what came of it. Three ledgers are compared wherever something could be lost: what clients were answered, what receivers heard, what the database holds in the end. The first two are kept by the proof itself, in a process that nobody kills.',
    `The figures are those of the long forms, each with the machine, the source and the seed it was run with; ${code('npm run prove')} runs all of them anew, ${code('npm run prove -- R1')} one, and ${code('--count')} and ${code('--seed')} make it shorter, or the same. ${code('npm test')} holds the quick form of every row that needs nothing but Node and npm, at every run${quickly()}.`,
    table(
      ['Row', 'What is done', 'Quick', 'Long', 'What came of it'],
      rows.map(({ proof, result }) => [
        `[${proof.id}](#${proof.id.toLowerCase()})`,
        proof.title,
        proof.quick === undefined ? '–' : number(proof.quick),
        `${number(proof.long)} ${proof.unit}`,
        verdictOf(result),
      ]),
    ),
    ...rows.map(section),
  );
}

function quickly(): string {
  const result = quickResult();
  if (result === undefined) return '';
  const { seconds, commit, machine, date } = result;
  return `; ${code('npm run prove -- --quick')} runs these alone, one after the other: ${number(seconds)} s (source ${code(commit)}, ${machine}, ${date})`;
}

function verdictOf(result: Result | undefined): string {
  if (result === undefined) return 'not run yet';
  if (result.lacks !== undefined) return `not run: ${result.lacks}`;
  return result.broken.length === 0 ? 'holds' : `does not hold: ${result.broken.length}`;
}

function section({ proof, result }: { proof: Proof; result: Result | undefined }): string {
  const { id, name, title, promise, heldBack } = proof;
  const parts = [
    `## ${id}`,
    `${title[0]?.toUpperCase()}${title.slice(1)}. What must show: ${promise}. Again: ${code(`npm run prove -- ${name}`)}`,
  ];
  if (result === undefined) parts.push('The long form has not been run yet.');
  else if (result.lacks !== undefined) parts.push(`Not run on ${result.machine}: ${result.lacks}.`);
  else {
    const { counts, broken, count, seed, seconds, date, commit, node, machine } = result;
    parts.push(
      table(
        ['Counted', 'Figure'],
        Object.entries(counts).map(([what, counted]) => [what, number(counted)]),
      ),
      ...(broken.length > 0
        ? [
            broken
              .slice(0, 20)
              .map((line) => `- ${line}`)
              .join('\n'),
            ...(heldBack === undefined ? [] : [`What holds it back: ${heldBack}`]),
          ]
        : []),
      `${number(count)} ${proof.unit} in ${number(seconds)} s, seed ${seed}; source ${code(commit)}, Node ${node}, ${machine}; ${date}.`,
    );
  }
  return parts.join('\n\n');
}
