import { type Behaviour, outcomeOf } from './behaviour.ts';
import { behaviourGroups } from './behaviours.ts';
import type { ConnectionReport } from './server.ts';

/** Matches C0 and C1 control characters, DEL, line and paragraph separators, and bidirectional controls. */
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Escapes control characters. Senders choose paths and headers, which must not move the cursor of a terminal or forge
 * lines.
 */
const escapeControlCharacters = (text: string): string =>
  text.replace(CONTROL_CHARACTERS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Prints one line, with control characters escaped. */
export function printLine(line: string): void {
  process.stdout.write(`${escapeControlCharacters(line)}\n`);
}

/** Prints a value as one line of JSON. The escapes are valid in JSON, so the value stays the same. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

/** Formats the report on one connection as a line for people. */
export function reportLine(report: ConnectionReport): string {
  const { at, behaviour, request, bytesRead, bytesWritten, ms, tls, error } = report;
  const time = new Date(at).toISOString().slice(11, 23);
  const what = request === undefined || request.method === '' ? '(no request)' : `${request.method} ${request.path}`;
  const transport = tls ? ' over TLS' : '';
  const why = error === undefined ? '' : `; ${error}`;
  const name = behaviour?.slug ?? '-';
  return `${time}  ${name}  ${what}${transport}: ${bytesRead} bytes in, ${bytesWritten} out, ${ms} ms${why}`;
}

/** Converts the report on one connection to JSON for programs. */
export function reportJson({ behaviour, at, request, ...rest }: ConnectionReport): object {
  return {
    behaviour: behaviour?.slug ?? null,
    date: new Date(at).toISOString(),
    ...rest,
    error: rest.error ?? null,
    request: request ?? null,
  };
}

/** Returns the scheme of the URLs that reach these behaviours. */
export const schemeOf = (behaviours: readonly Behaviour[] = []): 'http' | 'https' =>
  behaviours.length > 0 && behaviours.every(({ tls }) => tls !== undefined) ? 'https' : 'http';

/** Formats all behaviours as lines for people. */
export function listLines(): readonly string[] {
  const width = Math.max(...Object.values(behaviourGroups).flatMap((all) => all.map(({ slug }) => slug.length)));
  return Object.entries(behaviourGroups).flatMap(([title, all]) => [
    `${title}:`,
    ...all.map((one) => {
      const columns = [one.slug.padEnd(width), outcomeOf(one).padEnd(9), String(one.senderSees).padEnd(8)];
      return `  ${columns.join('  ')}  ${one.description}`;
    }),
    '',
  ]);
}

/** Converts all behaviours to JSON for programs. */
export function listJson(): readonly object[] {
  return Object.entries(behaviourGroups).flatMap(([group, all]) =>
    all.map((one) => ({
      slug: one.slug,
      group,
      description: one.description,
      senderSees: String(one.senderSees),
      outcome: outcomeOf(one),
      scheme: schemeOf([one]),
    })),
  );
}
