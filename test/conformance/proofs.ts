import { packageSources, type Source, sourcesBelow } from '../laws/source.ts';

/** A test whose name begins with clause numbers, and its file. */
export type Proof = { readonly file: string; readonly name: string; readonly clauses: readonly string[] };

const TEST_CALL = /\b(?:test|it|describe|suite)\s*\(\s*(?=['"`])/g;

/** All tests whose names begin with a clause number, in file order. */
export function findProofs(): readonly Proof[] {
  const files = ['src', ...packageSources, 'test']
    .flatMap(sourcesBelow)
    .filter(({ path }) => path.endsWith('.test.ts'));
  return files.flatMap(proofsIn);
}

function proofsIn(source: Source): Proof[] {
  return [...source.code.matchAll(TEST_CALL)]
    .map((match) => nameAt(source, match.index + match[0].length))
    .map((name) => ({ file: source.path, name: displayName(name), clauses: clausesOf(name) }))
    .filter(({ clauses }) => clauses.length > 0);
}

function nameAt({ text, code }: Source, begin: number): string {
  return text.slice(begin + 1, code.indexOf(text[begin] ?? '', begin + 1));
}

/** Leading clause numbers: `C17 C18 a target …` returns C17 and C18. */
function clausesOf(name: string): string[] {
  const [beginning = ''] = /^(?:[CX]\d+\s+)*/.exec(name) ?? [];
  return beginning.split(/\s+/).filter((clause) => clause !== '');
}

/** Test name for display; template expressions become `…`. */
function displayName(name: string): string {
  return name
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(['"`])/g, '$1')
    .replace(/\s+/g, ' ');
}
