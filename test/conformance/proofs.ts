import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A test, by its name and the file it stands in, and the clauses that its name begins with. */
export type Proof = { readonly file: string; readonly name: string; readonly clauses: readonly string[] };

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The beginning of a test's name in its source: a plain string, or a template up to its first placeholder. */
const NAMED = /\b(?:test|it|describe|suite)\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** Every test whose name begins with a clause, by file and place in it. */
export function findProofs(): readonly Proof[] {
  const files = ['src', 'test']
    .flatMap((folder) =>
      readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
    )
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .sort();
  return files.flatMap((file) => proofsIn(file, readFileSync(`${root}/${file}`, 'utf8')));
}

function proofsIn(file: string, source: string): Proof[] {
  const names = [...source.matchAll(NAMED)].map(([, single, double, template]) => single ?? double ?? template ?? '');
  return names
    .map((name) => ({ file, name: readable(name), clauses: clausesOf(name) }))
    .filter(({ clauses }) => clauses.length > 0);
}

/** `C17 C18 a target …` begins with C17 and C18. */
export function clausesOf(name: string): string[] {
  const [beginning = ''] = /^(?:[CX]\d+[\s,:]+)+/.exec(name) ?? [];
  return beginning.match(/[CX]\d+/g) ?? [];
}

function readable(name: string): string {
  return name
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(['"`])/g, '$1')
    .replace(/\s+/g, ' ');
}
