import type { AccountView } from '../../store/account-scope.ts';

/** A stored occurrence; `occurred_at` in milliseconds since the epoch. */
export type Occurrence = {
  readonly position: number;
  readonly kind: string;
  readonly user_id: number;
  readonly record_id: number;
  readonly occurred_at: number;
};

/** Selects the occurrences of an account; the caller adds conditions, order and limit. */
export function occurrencesOf(view: AccountView) {
  return view
    .selectFrom('occurrences')
    .select([
      'occurrences.position',
      'occurrences.kind',
      'occurrences.user_id',
      'occurrences.record_id',
      'occurrences.occurred_at',
    ]);
}
