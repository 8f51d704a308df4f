import { recordOf } from './resource.ts';
import type { CallOptions, Send } from './transport.ts';

/** Whether the service would take an address as a target, and why, in words that follow "target_url". */
export type Verdict = {
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  readonly says: string;
};

/** What would become of a target, before it is subscribed. */
export type JudgesTargets = (targetUrl: string, options?: CallOptions) => Promise<Verdict>;

/** The verdict at `/verdict`. */
export function verdict(send: Send): JudgesTargets {
  return async (targetUrl, options) =>
    recordOf(await send({ ...options, method: 'GET', path: ['verdict'], query: { target_url: targetUrl } }));
}
