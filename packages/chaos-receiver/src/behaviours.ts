import type { Behaviour } from './behaviour.ts';
import { bombs } from './behaviours/compression-bombs.ts';
import { endings } from './behaviours/broken-connections.ts';
import { endless } from './behaviours/endless.ts';
import { framing } from './behaviours/framing.ts';
import { handshakes } from './behaviours/tls.ts';
import { heads } from './behaviours/headers.ts';
import { redirects } from './behaviours/redirects.ts';
import { slow } from './behaviours/slow.ts';
import { demands, status, statuses, waits } from './behaviours/statuses.ts';
import { strangers } from './behaviours/other-protocols.ts';

/** All there are, in the order in which they are listed. */
export const groups: Readonly<Record<string, readonly Behaviour[]>> = {
  Silence: slow,
  'No end': endless,
  Bombs: bombs,
  'Broken connections': endings,
  Lengths: framing,
  'Status lines and headers': heads,
  'Other protocols': strangers,
  TLS: handshakes,
  Redirects: redirects,
  'Retry-After': waits,
  Demands: demands,
  'Plain statuses': statuses,
};

export const behaviours: readonly Behaviour[] = Object.values(groups).flat();

const bySlug = new Map(behaviours.map((one) => [one.slug, one]));

/** By its name; every status from 200 to 599 is one. */
export function behaviourOf(slug: string): Behaviour | undefined {
  return bySlug.get(slug) ?? (/^[2-5]\d\d$/.test(slug) ? status(Number(slug)) : undefined);
}
