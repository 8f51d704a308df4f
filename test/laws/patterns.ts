import { pathToFileURL } from 'node:url';
import { check } from 'recheck';
import { parseSync } from 'vite';

/** A regular expression and its position: `src/http/fields/ids.ts:4`. */
export type Pattern = { readonly source: string; readonly flags: string; readonly place: string };

/** Regular expression literals of a file, and line numbers of `RegExp` calls. */
export type Written = { readonly literals: readonly Pattern[]; readonly builtOn: readonly number[] };

/** Finds regular expressions with a parser: in JSX, `/…/` may be a closing tag. */
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

/** Imports a file and returns the regular expressions that it builds with `RegExp` while loading. */
export async function builtWhileLoading(root: string, path: string): Promise<readonly Pattern[]> {
  const url = pathToFileURL(`${root}/${path}`).href;
  const Native = RegExp;
  const built: Pattern[] = [];
  const recording = (pattern: string | RegExp, flags?: string) => {
    const made = new Native(pattern, flags);
    const calls = (new Error().stack ?? '').split('\n');
    // Record every line of the file in the stack: the call may be inside a helper function.
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
    // The query bypasses the module cache.
    await import(`${url}?patterns`);
  } finally {
    globalThis.RegExp = Native;
  }
  return built;
}

/** Timeout for the analysis of one regular expression; a timeout fails. */
const CHECK_TIMEOUT_MS = 30_000;

/** Describes why a regular expression is not linear in the length of the text; undefined if it is. */
export async function faultOf({ source, flags }: Omit<Pattern, 'place'>): Promise<string | undefined> {
  // Without repetition, matching is bounded by the length of the pattern.
  if (!/[*+{]/.test(source)) return undefined;
  const found = await check(source, flags, { timeout: CHECK_TIMEOUT_MS });
  if (found.status === 'safe') return undefined;
  if (found.status === 'unknown') return `not known to be linear (${found.error.kind})`;
  return `${found.complexity.summary}: ${found.attack.pattern}`;
}
