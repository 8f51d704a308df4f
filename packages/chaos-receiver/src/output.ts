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
export function formatReportLine(report: ConnectionReport): string {
  const { at, behaviour, request, bytesRead, bytesWritten, ms, tls, error } = report;
  const timeText = new Date(at).toISOString().slice(11, 23);
  const requestText =
    request === undefined || request.method === '' ? '(no request)' : `${request.method} ${request.path}`;
  const tlsSuffix = tls ? ' over TLS' : '';
  const errorSuffix = error === undefined ? '' : `; ${error}`;
  const behaviourSlug = behaviour?.slug ?? '-';
  return `${timeText}  ${behaviourSlug}  ${requestText}${tlsSuffix}: ${bytesRead} bytes in, ${bytesWritten} out, ${ms} ms${errorSuffix}`;
}

/** Converts the report on one connection to JSON for programs. */
export function toReportJson({ behaviour, at, request, ...rest }: ConnectionReport): object {
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
export function formatBehaviourList(): readonly string[] {
  const slugWidth = Math.max(
    ...Object.values(behaviourGroups).flatMap((groupBehaviours) => groupBehaviours.map(({ slug }) => slug.length)),
  );
  return Object.entries(behaviourGroups).flatMap(([groupTitle, groupBehaviours]) => [
    `${groupTitle}:`,
    ...groupBehaviours.map((behaviour) => {
      const columns = [
        behaviour.slug.padEnd(slugWidth),
        outcomeOf(behaviour).padEnd(9),
        String(behaviour.senderSees).padEnd(8),
      ];
      return `  ${columns.join('  ')}  ${behaviour.description}`;
    }),
    '',
  ]);
}

/** Converts all behaviours to JSON for programs. */
export function toBehaviourListJson(): readonly object[] {
  return Object.entries(behaviourGroups).flatMap(([group, groupBehaviours]) =>
    groupBehaviours.map((behaviour) => ({
      slug: behaviour.slug,
      group,
      description: behaviour.description,
      senderSees: String(behaviour.senderSees),
      outcome: outcomeOf(behaviour),
      scheme: schemeOf([behaviour]),
    })),
  );
}
