import { readdirSync, readFileSync } from 'node:fs';
import { clauses, findProofs, type Proof } from '../conformance/clauses.ts';
import { type Section, sections } from '../conformance/rows.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

/** Groups tests by clause; a clause without tests has an empty list. */
export function proofsByClause(proofs: readonly Proof[]): ReadonlyMap<string, readonly Proof[]> {
  const names = new Set([...Object.keys(clauses), ...proofs.flatMap((proof) => proof.clauses)]);
  return new Map([...names].map((clause) => [clause, proofs.filter((proof) => proof.clauses.includes(clause))]));
}

/** Derives docs/conformance.md: each clause with the number of its tests. */
export function conformanceDocument(): string {
  const proofs = proofsByClause(findProofs());
  const rows = Object.entries(clauses).map(([clause, promise]) => [
    clause,
    promise,
    String((proofs.get(clause) ?? []).length),
  ]);
  return document(
    derivedFrom('test/conformance', 'the names of the tests'),
    '# Conformance',
    `Carillon implements a written specification and extends it. These ${rows.length} clauses define its promises. ${code('C')} clauses interpret the specification, ${code('X')} clauses go beyond it. Each clause has tests whose names begin with its number; ${code('npm test')} runs them, and fails for a clause without a test.`,
    `${code('npm run docs')} also writes ${code('build/conformance.md')}: every row of the specification with its clauses, and every clause with the names of its tests. Where the specification leaves something open, the choice is explained in [decisions](decisions/README.md).`,
    table(['Clause', 'Promise', 'Tests'], rows),
  );
}

/** Derives build/conformance.md, which is not committed: every row with its clauses, every clause with its tests. */
export function conformanceReport(): string {
  const proofs = proofsByClause(findProofs());
  return document(
    '# Conformance report',
    '## From row to clause',
    ...sections.map((section) => sectionPart(section, proofs)),
    '## From clause to tests',
    ...Object.entries(clauses).map(([clause, promise]) => clausePart(clause, promise, proofs.get(clause) ?? [])),
  );
}

function sectionPart({ title, rows }: Section, proofs: ReadonlyMap<string, readonly Proof[]>): string {
  const lines = rows.map((row) => [
    code(row.id),
    row.brief,
    row.clauses.map((clause) => `[${clause}](#${clause.toLowerCase()})`).join(', '),
    String(new Set(row.clauses.flatMap((clause) => proofs.get(clause) ?? [])).size),
  ]);
  return `### Section ${title}\n\n${table(['Row', 'Description', 'Clauses', 'Tests'], lines)}`;
}

function clausePart(clause: string, promise: string, proofs: readonly Proof[]): string {
  const byFile = Map.groupBy(proofs, (proof) => proof.file);
  const files = [...byFile].map(
    ([file, tests]) => `- [${file}](../${file})\n${tests.map(({ name }) => `  - ${escaped(name)}`).join('\n')}`,
  );
  return [`### ${clause}`, promise, ...(files.length > 0 ? [files.join('\n')] : [])].join('\n\n');
}

/** Escapes the characters that have a meaning in Markdown. */
function escaped(name: string): string {
  return name.replace(/[\\*_[\]<>`|]/g, (mark) => `\\${mark}`);
}

const folder = new URL('../../docs/decisions/', import.meta.url);

export type Decision = { readonly file: string; readonly title: string; readonly text: string };

/** Reads all decisions, in the order of their numbers. */
export function decisions(): readonly Decision[] {
  const files = readdirSync(folder)
    .filter((file) => /^\d{4}-.+\.md$/.test(file))
    .sort();
  return files.map((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    return { file, title: /^# (.+)$/m.exec(text)?.[1] ?? '', text };
  });
}

export function decisionsDocument(): string {
  return document(
    derivedFrom('the pages in this folder'),
    '# Decisions',
    `Each decision has one page. Below its title, the page names the [clauses](../conformance.md) that it interprets. Smaller optimizations are in [performance notes](../performance-notes.md), and the reasons for packages are in [dependencies](../reference/dependencies.md). To add a page, take the next number and write at most 250 words; ${code('npm run docs')} updates this list.`,
    decisions()
      .map(({ file, title }) => `- [${title}](${file})`)
      .join('\n'),
  );
}
