import { clauses } from '../conformance/clauses.ts';
import { findProofs, type Proof } from '../conformance/proofs.ts';
import { type Section, sections } from '../conformance/rows.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

/** The tests that prove each clause, by clause. */
export function proofsByClause(proofs: readonly Proof[]): ReadonlyMap<string, readonly Proof[]> {
  const names = new Set([...Object.keys(clauses), ...proofs.flatMap((proof) => proof.clauses)]);
  return new Map([...names].map((clause) => [clause, proofs.filter((proof) => proof.clauses.includes(clause))]));
}

export function conformanceDocument(): string {
  const proofs = proofsByClause(findProofs());
  return document(
    derivedFrom('test/conformance', 'the names of the tests'),
    '# Conformance',
    'Carillon keeps a written specification: subscriptions (hooks), the notification, and calendar events under `/v2`. Below stands every row of every table of it, and every rule, with the clauses that hold it; below that every clause with the tests whose names begin with its number.',
    'The result is that of the tests: they are proved by `npm test`, which fails when one of them does. A row without a clause, or a clause without a test, fails it too. Where the specification is silent, the choice and its cost stand in [decisions](decisions/README.md).',
    '## From row to clause',
    ...sections.map((section) => sectionPart(section, proofs)),
    '## From clause to tests',
    ...Object.entries(clauses).map(([clause, says]) => clausePart(clause, says, proofs.get(clause) ?? [])),
  );
}

function sectionPart({ title, rows }: Section, proofs: ReadonlyMap<string, readonly Proof[]>): string {
  const lines = rows.map((row) => [
    code(row.id),
    row.brief,
    row.clauses.map((clause) => `[${clause}](#${clause.toLowerCase()})`).join(', '),
    String(new Set(row.clauses.flatMap((clause) => proofs.get(clause) ?? [])).size),
  ]);
  return `### Section ${title}\n\n${table(['Row', 'What it says', 'Clauses', 'Tests'], lines)}`;
}

function clausePart(clause: string, says: string, proofs: readonly Proof[]): string {
  const byFile = Map.groupBy(proofs, (proof) => proof.file);
  const files = [...byFile].map(
    ([file, tests]) => `- [${file}](../${file})\n${tests.map(({ name }) => `  - ${shown(name)}`).join('\n')}`,
  );
  return [`### ${clause}`, says, ...(files.length > 0 ? [files.join('\n')] : [])].join('\n\n');
}

/** A name as text: nothing in it is taken for Markdown. */
function shown(name: string): string {
  return name.replace(/[\\*_[\]<>`|]/g, (mark) => `\\${mark}`);
}
