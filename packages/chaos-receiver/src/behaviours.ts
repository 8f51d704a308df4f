import type { Behaviour } from './behaviour.ts';
import { compressionBombs, endlessResponses } from './behaviours/endless.ts';
import { brokenConnections, framingErrors } from './behaviours/framing.ts';
import { unusualHeaders } from './behaviours/headers.ts';
import { otherProtocolResponses, tlsBehaviours } from './behaviours/protocols.ts';
import { slowResponses } from './behaviours/slow.ts';
import {
  authenticationDemands,
  createStatusBehaviour,
  redirects,
  retryAfterResponses,
  statusBehaviours,
} from './behaviours/statuses.ts';

/** All behaviours by group, in the order in which `--list` prints them. */
export const behaviourGroups: Readonly<Record<string, readonly Behaviour[]>> = {
  'Slow or no response': slowResponses,
  'Endless responses': endlessResponses,
  'Compression bombs': compressionBombs,
  'Broken connections': brokenConnections,
  'Content length and framing': framingErrors,
  'Status lines and headers': unusualHeaders,
  'Other protocols': otherProtocolResponses,
  TLS: tlsBehaviours,
  Redirects: redirects,
  'Retry-After': retryAfterResponses,
  'Authentication and protocol demands': authenticationDemands,
  'Plain statuses': statusBehaviours,
};

export const behaviours: readonly Behaviour[] = Object.values(behaviourGroups).flat();

const behavioursBySlug = new Map(behaviours.map((one) => [one.slug, one]));

/** Finds a behaviour by its slug. Every status from 200 to 599 is a slug, even if the list does not contain it. */
export function findBehaviour(slug: string): Behaviour | undefined {
  return behavioursBySlug.get(slug) ?? (/^[2-5]\d\d$/.test(slug) ? createStatusBehaviour(Number(slug)) : undefined);
}
