import type { Behaviour } from './behaviour.ts';
import { compressionBombs, endless } from './behaviours/endless.ts';
import { brokenConnections, framing } from './behaviours/framing.ts';
import { headers } from './behaviours/headers.ts';
import { otherProtocols, tls } from './behaviours/protocols.ts';
import { slow } from './behaviours/slow.ts';
import { redirects, retryAfter, status, statuses, unauthorized } from './behaviours/statuses.ts';

/** All behaviours by group, in the order in which `--list` prints them. */
export const groups: Readonly<Record<string, readonly Behaviour[]>> = {
  'Slow or no response': slow,
  'Endless responses': endless,
  'Compression bombs': compressionBombs,
  'Broken connections': brokenConnections,
  'Content length and framing': framing,
  'Status lines and headers': headers,
  'Other protocols': otherProtocols,
  TLS: tls,
  Redirects: redirects,
  'Retry-After': retryAfter,
  'Authentication and protocol demands': unauthorized,
  'Plain statuses': statuses,
};

export const behaviours: readonly Behaviour[] = Object.values(groups).flat();

const bySlug = new Map(behaviours.map((one) => [one.slug, one]));

/** Finds a behaviour by its slug. Every status from 200 to 599 is a slug, even if the list does not contain it. */
export function behaviourBySlug(slug: string): Behaviour | undefined {
  return bySlug.get(slug) ?? (/^[2-5]\d\d$/.test(slug) ? status(Number(slug)) : undefined);
}
