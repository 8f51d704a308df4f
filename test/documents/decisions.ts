import { readdirSync, readFileSync } from 'node:fs';
import { code, derivedFrom, document } from './markdown.ts';

const folder = new URL('../../docs/decisions/', import.meta.url);

export type Decision = { readonly file: string; readonly title: string; readonly text: string };

/** All decisions in order. */
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
    `One page for each decision: context, decision, consequences. The clauses that a page interprets are below its title; they are listed in [conformance](../conformance.md). Optimizations with their measurements are in [performance notes](../performance-notes.md), packages in [dependencies](../reference/dependencies.md). To add a page, take the next number and keep it below 250 words; ${code('npm run docs')} updates this list.`,
    decisions()
      .map(({ file, title }) => `- [${title}](${file})`)
      .join('\n'),
  );
}
