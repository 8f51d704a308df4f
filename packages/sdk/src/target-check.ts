import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** Whether the service would take an address as a target, and why, in words that follow "target_url". */
export type Verdict = {
  /** Whether it would, or why not. */
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  /** Why, in words that follow "target_url"; never an address. */
  readonly says: string;
};

/** What would become of a target, before it is subscribed. */
export type JudgesTargets = (targetUrl: string, options?: CallOptions) => Promise<Verdict>;

/** The verdict at `/verdict`. */
export function verdict(send: Send): JudgesTargets {
  return async (targetUrl, options) =>
    recordOf(await send({ ...options, method: 'GET', path: ['verdict'], query: { target_url: targetUrl } }));
}
