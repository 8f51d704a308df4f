/** A derived document: its path in the repository, and its text. */
export type DerivedDocument = { readonly path: string; readonly text: string };

/** Formats a Markdown table; escapes `|` in cells. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

export const inlineCode = (text: string): string => `\`${text}\``;

/** Returns the comment at the top of a derived document that names its sources. */
export function derivedNotice(...sources: readonly string[]): string {
  return `<!-- Written by test/docs.ts from ${sources.join(' and ')}. Change that, then: npm run docs -->`;
}

/** Joins the parts of a document with empty lines. */
export function joinParts(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}

/** Returns the anchor of a heading, as GitHub derives it. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
