import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * How a block of commands is tried, as the word behind `sh` says: as it stands, beside a service (no word); so, once the
 * service is stopped; until it has said something, since it stays; by a test of its own, which reads it there (`story`); by continuous integration
 * itself; or not at all, since it takes more than this machine (systemd, containers, a domain, another service): then only whether a shell
 * understands it.
 */
export const ways = ['', 'stopped', 'stays', 'story', 'ci', 'machine'] as const;

export type Way = (typeof ways)[number];

/** A block of commands in a document. */
export type Commands = { readonly path: string; readonly line: number; readonly way: string; readonly script: string };

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every page that a reader may follow. */
function pages(): readonly { readonly path: string; readonly text: string }[] {
  const docs = readdirSync(`${root}/docs`).filter((name) => name.endsWith('.md'));
  const paths = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
  return paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }));
}

/** What sentences name as commands of `carillon`: the words behind it. */
export function namedCommands(): readonly { readonly path: string; readonly line: string }[] {
  return pages().flatMap(({ path, text }) =>
    [...text.matchAll(/`(?:npm run -s carillon --|npx carillon|carillon) ([^`]+)`/g)].map((match) => ({
      path,
      line: match[1] ?? '',
    })),
  );
}

/** Every block of commands, of every page, in the order in which it stands there. */
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
