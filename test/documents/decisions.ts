import { readdirSync, readFileSync } from 'node:fs';
import { code, derivedFrom, document } from './markdown.ts';

const folder = new URL('../../docs/decisions/', import.meta.url);

export type Decision = { readonly file: string; readonly title: string; readonly about: string; readonly text: string };

/** Every page, in order: its title, and the line in italics below it that says what it is about. */
export function decisions(): readonly Decision[] {
  const files = readdirSync(folder)
    .filter((file) => /^\d{4}-.+\.md$/.test(file))
    .sort();
  return files.map((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const title = /^# (.+)$/m.exec(text)?.[1] ?? '';
    const about = /^\*(Silence|Engineering)\b.*\*$/m.exec(text)?.[1] ?? '';
    return { file, title, about, text };
  });
}

export function decisionsDocument(): string {
  const all = decisions();
  const list = (about: string) =>
    all
      .filter((one) => one.about === about)
      .map(({ file, title }) => `- [${title}](${file})`)
      .join('\n');
  return document(
    derivedFrom('the pages in this folder'),
    '# Decisions',
    `One page each: the question, what could have been chosen, what was, and what that costs. A page of the first part is about something that the specification does not say, or says in a way that can be read twice; its parts are named ${code('One reading')} and ${code('The other')}.`,
    '## Silences of the specification',
    list('Silence'),
    '## Engineering',
    list('Engineering'),
  );
}
