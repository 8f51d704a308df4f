import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AssignedTeam, AssignedUser, PagePosition } from '../../../packages/sdk/src/api-types.ts';
import type { DeleteMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { idsOf } from '../app/optimistic-update.ts';
import { runWithToast } from '../app/use-query.ts';
import { ConfirmDialog } from '../components/dialog.tsx';
import { showToast } from '../components/toast.tsx';

/**
 * Warning about the side effects of a deletion: label of the confirm button, and text of the confirmation dialog.
 */
export type DeleteWarning = { readonly confirmLabel: string; readonly text: ComponentChildren };

/** How records of a resource are deleted and restored. */
export type Deletable<T> = {
  readonly resource: DeleteMethod;
  idOf(record: T): string;
  nameOf(record: T): string;
  /** Describes the dependent records that are deleted or changed as well; undefined when there are none. */
  findWarning(record: T): Promise<DeleteWarning | undefined>;
  /**
   * Creates the record again, for Undo. Omitted for resources whose deletion always needs confirmation and cannot be
   * undone.
   */
  recreate?(record: T): Promise<T>;
};

type DeleteCallbacks<T> = {
  readonly onGone: (record: T) => void;
  /** Called when Undo has created the record again, with a new id. */
  readonly onBack: (record: T) => void;
};

/**
 * Deletes a record: immediately and with Undo when no other records depend on it, otherwise after a confirmation
 * dialog.
 */
export function useDelete<T>(
  { resource, idOf, nameOf, findWarning, recreate }: Deletable<T>,
  { onGone, onBack }: DeleteCallbacks<T>,
) {
  const [confirmation, setConfirmation] = useState<{ readonly record: T } & DeleteWarning>();
  const remove = async (record: T, toastOptions: { readonly undo?: () => void }) => {
    if (!(await runWithToast(() => resource.delete(idOf(record))))) return;
    onGone(record);
    showToast(`“${nameOf(record)}” deleted.`, toastOptions);
  };
  const begin = (record: T) =>
    void runWithToast(async () => {
      const warning = await findWarning(record);
      if (warning !== undefined) setConfirmation({ record, ...warning });
      else if (recreate === undefined) await remove(record, {});
      else await remove(record, { undo: () => void runWithToast(async () => onBack(await recreate(record))) });
    });
  const question = confirmation !== undefined && (
    <ConfirmDialog
      title={`Delete “${nameOf(confirmation.record)}”?`}
      confirmLabel={confirmation.confirmLabel}
      onConfirm={() => void remove(confirmation.record, {})}
      onClose={() => setConfirmation(undefined)}
    >
      {confirmation.text}
    </ConfirmDialog>
  );
  return { begin, question };
}

/**
 * Returns the input that creates a deleted record again; the API ignores its read-only fields. The creator is
 * omitted, because that user may have been deleted: the current user becomes the creator.
 */
export function toCreateInput<T extends WithAssignees>(record: T) {
  const { user_id: _, users = [], teams = [], ...rest } = record;
  return { ...rest, users: idsOf(users), teams: idsOf(teams) };
}

type WithAssignees = {
  readonly user_id?: string;
  readonly users?: readonly AssignedUser[];
  readonly teams?: readonly AssignedTeam[];
};

/** Formats a count with its singular or plural noun: `1 task`, `3 tasks`. */
export const formatCount = (count: number, word: string) =>
  `${count} ${count === 1 ? word : `${word}s`.replace(/([^aeiou])ys$/, '$1ies')}`;

/** Dependent records that a deletion removes. `more` names their own dependents, such as ` and all subtasks`. */
type Dependents = { readonly word: string; readonly count: number; readonly more: string };

/** Counts the dependent records of one resource; a list request returns their total. */
export async function countDependents(
  word: string,
  listRequest: Promise<{ readonly paging: PagePosition }>,
  more = '',
): Promise<Dependents> {
  return { word, count: (await listRequest).paging.total_records, more };
}

/** Describes all dependent records of a record; undefined when there are none. */
export async function describeDependents(
  dependentCounts: readonly Promise<Dependents>[],
): Promise<DeleteWarning | undefined> {
  const [first, ...others] = (await Promise.all(dependentCounts)).filter(({ count }) => count > 0);
  if (first === undefined) return undefined;
  const isOne = first.count === 1 && first.more === '' && others.length === 0;
  const all =
    others.length === 0 ? dependentsSubject(first.count, first.word) : `Its ${formatCount(first.count, first.word)}`;
  const rest = others.map(({ count, word }) => `, ${formatCount(count, word)}`).join('');
  return {
    confirmLabel: `Delete with ${formatCount(first.count, first.word)}${others.length > 0 ? ' and more' : ''}`,
    text: `${all}${first.more}${rest} ${isOne ? 'goes' : 'go'} with it.`,
  };
}

/** Returns the subject of a sentence about dependent records: `Its task`, `Its 3 tasks`. */
export const dependentsSubject = (count: number, word: string) =>
  count === 1 ? `Its ${word}` : `Its ${formatCount(count, word)}`;
