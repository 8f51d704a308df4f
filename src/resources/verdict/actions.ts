import { type Guard, normaliseTarget, parseTarget } from '../../delivery/guard.ts';
import { hashTarget } from '../../secrets.ts';
import { LONGEST_JUDGING_MS } from '../hooks/actions.ts';

/** Whether a live hook anywhere on the service has a target, by its hash (C12). */
export type IsTaken = (targetHash: string) => Promise<boolean>;

export type VerdictRow = {
  readonly verdict: 'allowed' | 'unresolved' | 'forbidden' | 'malformed' | 'taken';
  readonly says: string;
};

/** What subscribing a target would come to (C11, C12), in the words of the same guard; nothing is kept of it. */
export async function judgeTarget(guard: Guard, isTaken: IsTaken, text: string): Promise<VerdictRow> {
  const parsed = parseTarget(text);
  if ('fault' in parsed) return { verdict: 'malformed', says: parsed.fault };
  const judged = await guard.judge(parsed.url, LONGEST_JUDGING_MS);
  if ('allowed' in judged && !judged.allowed) {
    return { verdict: judged.word, says: 'leads to an address that nothing may be sent to' };
  }
  if (await isTaken(hashTarget(normaliseTarget(parsed.url)))) {
    return { verdict: 'taken', says: 'is the target of another live hook' };
  }
  if ('failure' in judged) return { verdict: 'unresolved', says: unresolved[judged.failure] };
  return { verdict: 'allowed', says: 'may be notified' };
}

const unresolved = {
  no_such_name: 'has a name that does not exist at this moment; it is judged again at each delivery',
  resolver_silent: 'has a name that no name server answered for; it is judged again at each delivery',
} as const;
