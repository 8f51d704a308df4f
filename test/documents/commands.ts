import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * How a code block of commands is tested, by the word after `sh`:
 *
 * - none: run as is, next to a running service
 * - `stopped`: run while the service is stopped
 * - `stays`: a long-running command, run until its first output
 * - `story`: run by a dedicated test that reads the block
 * - `ci`: run by continuous integration
 * - `machine`: needs systemd, containers, a domain or another service; only its shell syntax is checked
 */
export const ways = ['', 'stopped', 'stays', 'story', 'ci', 'machine'] as const;

export type Way = (typeof ways)[number];

/** A code block of commands in a document. */
export type Commands = { readonly path: string; readonly line: number; readonly way: string; readonly script: string };

const root = fileURLToPath(new URL('../..', import.meta.url));

/** All pages with commands. */
function pages(): readonly { readonly path: string; readonly text: string }[] {
  const docs = readdirSync(`${root}/docs`).filter((name) => name.endsWith('.md'));
  const paths = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
  return paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }));
}

/** Arguments of all `carillon` commands in inline code. */
export function namedCommands(): readonly { readonly path: string; readonly line: string }[] {
  return pages().flatMap(({ path, text }) =>
    [...text.matchAll(/`(?:npm run -s carillon --|npx carillon|carillon) ([^`]+)`/g)].map((match) => ({
      path,
      line: match[1] ?? '',
    })),
  );
}

/** All code blocks of commands, in page order. */
export function documentedCommands(): readonly Commands[] {
  return pages().flatMap(({ path, text }) => {
    return [...text.matchAll(/^```(?:sh|bash|shell|console)\b *(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
      path,
      line: text.slice(0, match.index).split('\n').length,
      way: match[1] ?? '',
      script: match[2] ?? '',
    }));
  });
}
