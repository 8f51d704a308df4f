/** A document that is written by the program from a table: where it stands below the repository, and its text. */
export type Derived = { readonly path: string; readonly text: string };

/** A table; a bar within a cell is written so that it does not end it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

export const code = (text: string): string => `\`${text}\``;

/** What a reader who wants to change a derived document needs to know. */
export function derivedFrom(...sources: readonly string[]): string {
  return `<!-- Written by test/docs.ts from ${sources.join(' and ')}. Change that, then: npm run docs -->`;
}

/** A whole document: its parts, an empty line between them. */
export function document(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}

/** The anchor that a heading gets where Markdown is shown. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
