import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** An import of a file. `typeOnly` imports are erased at run time. */
export type ImportStatement = {
  /** Path in the repository, package name or Node module. */
  readonly from: string;
  readonly names: readonly string[];
  readonly typeOnly: boolean;
};

/** A source file for the laws. Its three texts have the same length, so an offset is valid in each of them. */
export type SourceFile = {
  /** Path relative to the repository: `src/store/store.ts`. */
  readonly path: string;
  readonly text: string;
  /** The text with spaces in place of comments. */
  readonly withoutComments: string;
  /** The text with spaces in place of comments and of the content of literals. */
  readonly code: string;
  readonly imports: readonly ImportStatement[];
};

/** Reads all TypeScript files below a folder. */
export function sourcesBelow(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !/node_modules|\bdist\b/.test(entry.parentPath))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

/** Source folders of the packages, without their build output. */
export const packageSources = ['packages/sdk/src', 'packages/chaos-receiver/src'] as const;

/** Returns the sources of the service and the SDK, without tests and files that only tests use. */
export function productSources(): SourceFile[] {
  return ['src', 'packages/sdk/src'].flatMap(sourcesBelow).filter(isNotTest);
}

export const isNotTest = ({ path }: Pick<SourceFile, 'path'>): boolean => !/\.(test|corpus)\.ts$/.test(path);

/** Parses a source text; `path` is relative to the repository. */
export function parseSource(path: string, text: string): SourceFile {
  const { spoken, code } = blankComments(text);
  return { path, text, withoutComments: spoken, code, imports: importsOf(path, spoken) };
}

const IMPORT_STATEMENT = /(?:^|\n)\s*(?:import|export)\b([^'";()]*?)\bfrom\s*['"]([^'"]+)['"]/g;
const BARE_IMPORT = /(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;
const DYNAMIC_IMPORT = /\bimport\s*\(\s*['"]([^'"]+)['"]/g;

function importsOf(path: string, spoken: string): ImportStatement[] {
  const resolvePath = (from: string) => (from.startsWith('.') ? join(dirname(path), from) : from);
  const found = [...spoken.matchAll(IMPORT_STATEMENT)].map(([, clause = '', from = '']): ImportStatement => {
    const entries = clause
      .replace(/^\s*type\b(?!\s*,)/, '')
      .replace(/[{}]/g, ',')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    const valued = entries.filter((entry) => !entry.startsWith('type '));
    const names = valued.map((entry) => entry.split(/\s+as\s+/)[0] ?? '');
    return { from: resolvePath(from), names, typeOnly: /^\s*type\b/.test(clause) || names.length === 0 };
  });
  const whole = [...spoken.matchAll(BARE_IMPORT), ...spoken.matchAll(DYNAMIC_IMPORT)].map(
    ([, from = '']): ImportStatement => ({ from: resolvePath(from), names: ['*'], typeOnly: false }),
  );
  return [...found, ...whole];
}

/** Matches code after which a `/` starts a regular expression literal instead of a division. */
const PATTERN_PREFIX =
  /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield))\s*$/;

/**
 * Replaces comments with spaces. In `code`, the content of strings, templates and regular expressions is replaced as
 * well, except substitutions (`${}`).
 */
function blankComments(text: string): { spoken: string; code: string } {
  const spoken: string[] = [];
  const code: string[] = [];
  /** Number of open braces in each open template. */
  const templates: number[] = [];
  let at = 0;

  const consume = (end: number, what: 'code' | 'literal' | 'comment') => {
    const piece = text.slice(at, end);
    const blank = piece.replace(/[^\n]/g, ' ');
    spoken.push(what === 'comment' ? blank : piece);
    code.push(what === 'code' ? piece : blank);
    at = end;
  };
  const consumeLiteral = (end: number) => {
    consume(at + 1, 'code');
    consume(end - 1, 'literal');
    consume(end, 'code');
  };
  /**
   * Consumes a part of a template: from its opening backtick, or the closing brace of a substitution, to the next
   * substitution or the closing backtick.
   */
  const consumeTemplate = () => {
    consume(at + 1, 'code');
    let end = at;
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1;
    consume(end, 'literal');
    if (text[end] === '`') consume(end + 1, 'code');
    else {
      consume(end + 2, 'code');
      templates.push(0);
    }
  };

  while (at < text.length) {
    const rest = text.slice(at, at + 2);
    const [char = ''] = rest;
    if (rest === '//') consume(endOf(text, '\n', at), 'comment');
    else if (rest === '/*') consume(endOf(text, '*/', at + 2) + 2, 'comment');
    else if (char === "'" || char === '"') consumeLiteral(quoteEnd(text, at, char));
    else if (char === '`') consumeTemplate();
    else if (char === '/' && PATTERN_PREFIX.test(text.slice(Math.max(0, at - 40), at)))
      consumeLiteral(patternEnd(text, at));
    else if (char === '}' && templates.at(-1) === 0) {
      templates.pop();
      consumeTemplate();
    } else {
      if (char === '{' && templates.length > 0) templates.push((templates.pop() ?? 0) + 1);
      if (char === '}' && templates.length > 0) templates.push((templates.pop() ?? 0) - 1);
      consume(at + 1, 'code');
    }
  }
  return { spoken: spoken.join(''), code: code.join('') };
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found;
}

function quoteEnd(text: string, from: number, quote: string): number {
  let at = from + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function patternEnd(text: string, from: number): number {
  let at = from + 1;
  let inClass = false;
  while (at < text.length && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true;
    if (text[at] === ']') inClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** Returns the offset of the bracket that closes the bracket at `from`. It counts brackets: `code` has no literals. */
export function closingBracketOf(code: string, from: number): number {
  let depth = 0;
  for (let at = from; at < code.length; at += 1) {
    if ('([{'.includes(code[at] ?? '')) depth += 1;
    if (')]}'.includes(code[at] ?? '')) depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}
