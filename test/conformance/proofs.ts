import { packageSources, type Source, sourcesBelow } from '../laws/source.ts';

/** A test whose name begins with clauses, and the file it stands in. */
export type Proof = { readonly file: string; readonly name: string; readonly clauses: readonly string[] };

const CALL = /\b(?:test|it|describe|suite)\s*\(\s*(?=['"`])/g;

/** Every test whose name begins with a clause, by file and place in it. */
export function findProofs(): readonly Proof[] {
  const files = ['src', ...packageSources, 'test']
    .flatMap(sourcesBelow)
    .filter(({ path }) => path.endsWith('.test.ts'));
  return files.flatMap(proofsIn);
}

function proofsIn(source: Source): Proof[] {
  return [...source.code.matchAll(CALL)]
    .map((match) => nameAt(source, match.index + match[0].length))
    .map((name) => ({ file: source.path, name: readable(name), clauses: clausesOf(name) }))
    .filter(({ clauses }) => clauses.length > 0);
}

function nameAt({ text, code }: Source, begin: number): string {
  return text.slice(begin + 1, code.indexOf(text[begin] ?? '', begin + 1));
}

/** `C17 C18 a target …` begins with C17 and C18. */
function clausesOf(name: string): string[] {
  const [beginning = ''] = /^(?:[CX]\d+\s+)*/.exec(name) ?? [];
  return beginning.split(/\s+/).filter((clause) => clause !== '');
}

/** A name as it reads; what a template fills in is left open. */
function readable(name: string): string {
  return name
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(['"`])/g, '$1')
    .replace(/\s+/g, ' ');
}
