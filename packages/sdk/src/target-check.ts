import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** Whether the service would accept a URL as a target. */
export type Verdict = {
  /** Result of the check. */
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  /** The reason, as a continuation of "target_url"; never contains an IP address. */
  readonly says: string;
};

/** Checks a target before it is subscribed. */
export type JudgesTargets = (targetUrl: string, options?: CallOptions) => Promise<Verdict>;

/** The check at `/verdict`. */
export function verdict(send: Send): JudgesTargets {
  return async (targetUrl, options) =>
    recordOf(await send({ ...options, method: 'GET', path: ['verdict'], query: { target_url: targetUrl } }));
}
