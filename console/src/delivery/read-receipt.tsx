import type { ToldHook } from '../../../packages/sdk/src/activity.ts';
import { ClockTime, momentOf } from '../components/timestamp.tsx';
import './delivery.css';

/** Read receipt of a delivery: whether the record was fetched after it was delivered. */
export type Reading = 'not told' | 'read' | 'never read';

export function readingOf({ state, fetched_at }: ToldHook): Reading {
  if (state !== 'delivered') return 'not told';
  return momentOf(fetched_at) === undefined ? 'never read' : 'read';
}

/** Explanation of the state "told, never read". */
export const NEVER_READ =
  'The target answered 200, and no key of the hook’s user has fetched the record since. Either the application ' +
  'dropped the notification after answering, or it knows the record from elsewhere.';

/** Badge of the read receipt. */
export function ReadMark({ told }: { readonly told: ToldHook }) {
  const reading = readingOf(told);
  if (reading === 'not told') return null;
  if (reading === 'never read') {
    return (
      <span class="mark unread" title={NEVER_READ}>
        told, never read
      </span>
    );
  }
  return (
    <span class="mark read">
      read <ClockTime at={told.fetched_at} />
    </span>
  );
}
