import { readdirSync, readFileSync } from 'node:fs';
import { type ClauseTest, clauses, findClauseTests } from '../conformance/clauses.ts';
import { type SpecificationSection, sections } from '../conformance/rows.ts';
import { derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';

/** Groups tests by clause; a clause without tests has an empty list. */
export function testsByClause(proofs: readonly ClauseTest[]): ReadonlyMap<string, readonly ClauseTest[]> {
  const names = new Set([...Object.keys(clauses), ...proofs.flatMap((proof) => proof.clauses)]);
  return new Map([...names].map((clause) => [clause, proofs.filter((proof) => proof.clauses.includes(clause))]));
}

/** Derives docs/conformance.md: each clause with the number of its tests. */
export function conformanceDocument(): string {
  const proofs = testsByClause(findClauseTests());
  const rows = Object.entries(clauses).map(([clause, promise]) => [
    clause,
    promise,
    String((proofs.get(clause) ?? []).length),
  ]);
  return joinParts(
    derivedNotice('test/conformance', 'the names of the tests'),
    '# Conformance',
    `Carillon implements a written specification and extends it. These ${rows.length} clauses define its promises. ${inlineCode('C')} clauses interpret the specification, ${inlineCode('X')} clauses go beyond it. Each clause has tests whose names begin with its number; ${inlineCode('npm test')} and ${inlineCode('npm run test:slow')} run them. A clause without a test fails ${inlineCode('npm test')}.`,
    `${inlineCode('npm run docs')} also writes ${inlineCode('build/conformance.md')}: every row of the specification with its clauses, and every clause with the names of its tests. Where the specification leaves something open, the choice is explained in [decisions](decisions/README.md).`,
    markdownTable(['Clause', 'Promise', 'Tests'], rows),
  );
}

/** Derives build/conformance.md, which is not committed: every row with its clauses, every clause with its tests. */
export function conformanceReport(): string {
  const proofs = testsByClause(findClauseTests());
  return joinParts(
    '# Conformance report',
    '## From row to clause',
    ...sections.map((section) => sectionPart(section, proofs)),
    '## From clause to tests',
    ...Object.entries(clauses).map(([clause, promise]) => clausePart(clause, promise, proofs.get(clause) ?? [])),
  );
}

function sectionPart(
  { title, rows }: SpecificationSection,
  proofs: ReadonlyMap<string, readonly ClauseTest[]>,
): string {
  const lines = rows.map((row) => [
    inlineCode(row.id),
    row.summary,
    row.clauses.map((clause) => `[${clause}](#${clause.toLowerCase()})`).join(', '),
    String(new Set(row.clauses.flatMap((clause) => proofs.get(clause) ?? [])).size),
  ]);
  return `### Section ${title}\n\n${markdownTable(['Row', 'Description', 'Clauses', 'Tests'], lines)}`;
}

function clausePart(clause: string, promise: string, proofs: readonly ClauseTest[]): string {
  const byFile = Map.groupBy(proofs, (proof) => proof.file);
  const files = [...byFile].map(
    ([file, tests]) => `- [${file}](../${file})\n${tests.map(({ name }) => `  - ${escapeMarkdown(name)}`).join('\n')}`,
  );
  return [`### ${clause}`, promise, ...(files.length > 0 ? [files.join('\n')] : [])].join('\n\n');
}

/** Escapes the characters that have a meaning in Markdown. */
function escapeMarkdown(name: string): string {
  return name.replace(/[\\*_[\]<>`|]/g, (mark) => `\\${mark}`);
}

const decisionsFolder = new URL('../../docs/decisions/', import.meta.url);

export type Decision = { readonly file: string; readonly title: string; readonly text: string };

/** Reads all decisions, in the order of their numbers. */
export function decisions(): readonly Decision[] {
  const files = readdirSync(decisionsFolder)
    .filter((file) => /^\d{4}-.+\.md$/.test(file))
    .sort();
  return files.map((file) => {
    const text = readFileSync(new URL(file, decisionsFolder), 'utf8');
    return { file, title: /^# (.+)$/m.exec(text)?.[1] ?? '', text };
  });
}

export function decisionsDocument(): string {
  return joinParts(
    derivedNotice('the pages in this folder'),
    '# Decisions',
    `Each page explains one design decision. The line below its title names the [clauses](../conformance.md), the promises of Carillon, that the decision interprets. "The specification" is the API description that Carillon implements. Smaller optimizations are in [performance notes](../performance-notes.md), and the reasons for npm packages are in [dependencies](../reference/dependencies.md). To add a page, take the next number and write at most 250 words. ${inlineCode('npm run docs')} updates this list.`,
    decisions()
      .map(({ file, title }) => `- [${title}](${file})`)
      .join('\n'),
  );
}
