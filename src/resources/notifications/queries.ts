import type { AccountView } from '../../store/account-scope.ts';

/** Something that happened, as it is stored. */
export type Occurrence = {
  readonly position: number;
  readonly kind: string;
  readonly user_id: number;
  readonly record_id: number;
  readonly occurred_at: number;
};

/** The occurrences of an account; whoever asks says where, in which order and how many. */
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
