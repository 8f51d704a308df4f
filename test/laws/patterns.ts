import { pathToFileURL } from 'node:url';
import { check } from 'recheck';
import { parseSync } from 'vite';

/** One regular expression, and the place that writes it: `src/http/fields/ids.ts:4`. */
export type Pattern = { readonly source: string; readonly flags: string; readonly place: string };

/** The regular expressions that a file writes as literals, and the lines on which it builds others with `RegExp`. */
export type Written = { readonly literals: readonly Pattern[]; readonly builtOn: readonly number[] };

/** Reads a file by a parser of the language: in JSX, what looks like a regular expression may be a closing tag. */
export function patternsIn(path: string, text: string): Written {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const literals: Pattern[] = [];
  const builtOn: number[] = [];
  const lineOf = (at: number) => text.slice(0, at).split('\n').length;
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object') return;
    if ('regex' in node && 'start' in node) {
      const { pattern, flags } = node.regex as { pattern: string; flags: string };
      literals.push({ source: pattern, flags, place: `${path}:${lineOf(Number(node.start))}` });
    }
    if ('callee' in node && 'start' in node && isRegExp(node.callee)) builtOn.push(lineOf(Number(node.start)));
    Object.values(node).forEach(visit);
  };
  visit(program);
  return { literals, builtOn };
}

function isRegExp(callee: unknown): boolean {
  const { name, property } = callee as { name?: string; property?: { name?: string } };
  return name === 'RegExp' || property?.name === 'RegExp';
}

/** Imports a file, and answers the regular expressions that its own lines built with `RegExp` meanwhile. */
export async function builtWhileLoading(root: string, path: string): Promise<readonly Pattern[]> {
  const url = pathToFileURL(`${root}/${path}`).href;
  const Native = RegExp;
  const built: Pattern[] = [];
  const recording = (pattern: string | RegExp, flags?: string) => {
    const made = new Native(pattern, flags);
    const calls = (new Error().stack ?? '').split('\n');
    // Every line of the file in the stack: one may be a function that the others call.
    for (const call of calls.filter((one) => one.includes(`${url}:`) || one.includes(`${url}?`))) {
      built.push({ source: made.source, flags: made.flags, place: `${path}:${call.split(':').at(-2)}` });
    }
    return made;
  };
  globalThis.RegExp = new Proxy(Native, {
    construct: (_, [pattern, flags]) => recording(pattern, flags),
    apply: (_, _this, [pattern, flags]) => recording(pattern, flags),
  });
  try {
    // A query makes it another module: it may have been imported before.
    await import(`${url}?patterns`);
  } finally {
    globalThis.RegExp = Native;
  }
  return built;
}

/** Longest that one regular expression is looked at; one that takes longer fails. */
const CHECK_TIMEOUT_MS = 30_000;

/** What is wrong with a regular expression, undefined when its matching takes time linear in the length of the text. */
export async function faultOf({ source, flags }: Omit<Pattern, 'place'>): Promise<string | undefined> {
  // Without a repetition it looks at no more of the text than it is long itself.
  if (!/[*+{]/.test(source)) return undefined;
  const found = await check(source, flags, { timeout: CHECK_TIMEOUT_MS });
  if (found.status === 'safe') return undefined;
  if (found.status === 'unknown') return `not known to be linear (${found.error.kind})`;
  return `${found.complexity.summary}: ${found.attack.pattern}`;
}
