import { type Behaviour, verdictOn } from './behaviour.ts';
import { groups } from './behaviours.ts';
import type { Visited } from './server.ts';

/** One connection in a line, for people. */
export function visitedLine({ at, behaviour, asked, bytesRead, bytesWritten, ms, tls, fault }: Visited): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const what = asked === undefined || asked.method === '' ? '(no request)' : `${asked.method} ${asked.path}`;
  const over = tls ? ' over TLS' : '';
  const why = fault === undefined ? '' : `; ${fault}`;
  const name = behaviour?.slug ?? '-';
  return `${time}  ${name}  ${what}${over}: ${bytesRead} bytes in, ${bytesWritten} out, ${ms} ms${why}`;
}

/** The same for programs. */
export function visitedAnswer({ behaviour, at, asked, ...rest }: Visited): object {
  return {
    behaviour: behaviour?.slug ?? null,
    date: new Date(at).toISOString(),
    ...rest,
    fault: rest.fault ?? null,
    asked: asked ?? null,
  };
}

/** How a port is spoken to that does these, or what its paths say. */
export const schemeOf = (among: readonly Behaviour[] = []): string =>
  among.length > 0 && among.every(({ tls }) => tls !== undefined) ? 'https' : 'http';

export function listedLines(): readonly string[] {
  const width = Math.max(...Object.values(groups).flatMap((all) => all.map(({ slug }) => slug.length)));
  return Object.entries(groups).flatMap(([title, all]) => [
    `${title}:`,
    ...all.map(
      (one) => `  ${one.slug.padEnd(width)}  ${verdictOn(one).padEnd(9)}  ${String(one.sees).padEnd(8)}  ${one.says}`,
    ),
    '',
  ]);
}

export function listedAnswer(): readonly object[] {
  return Object.entries(groups).flatMap(([group, all]) =>
    all.map((one) => ({
      slug: one.slug,
      group,
      says: one.says,
      sees: String(one.sees),
      comes_to: verdictOn(one),
      scheme: schemeOf([one]),
    })),
  );
}
