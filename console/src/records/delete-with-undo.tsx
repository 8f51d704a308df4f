import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AssignedTeam, AssignedUser, PagePosition } from '../../../packages/sdk/src/api-types.ts';
import type { DeleteMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { assigneeIdsOf } from '../app/optimistic-update.ts';
import { runWithToast } from '../app/use-query.ts';
import { ConfirmDialog } from '../components/dialog.tsx';
import { showToast } from '../components/toast.tsx';

/**
 * Warning about the side effects of a deletion: label of the confirm button, and text of the confirmation dialog.
 */
type DeleteWarning = { readonly confirmLabel: string; readonly text: ComponentChildren };

/** A resource whose records can be deleted and, with `recreate`, restored. */
export type DeletableResource<T> = {
  readonly resource: DeleteMethod;
  idOf(record: T): string;
  nameOf(record: T): string;
  /** Describes the dependent records that are deleted or changed as well; undefined when there are none. */
  findDeleteWarning(record: T): Promise<DeleteWarning | undefined>;
  /**
   * Creates the record again, for Undo. Omitted for resources whose deletion always needs confirmation and cannot be
   * undone.
   */
  recreate?(record: T): Promise<T>;
};

type DeleteCallbacks<T> = {
  readonly onDeleted: (record: T) => void;
  /** Called when Undo has created the record again, with a new id. */
  readonly onRestored: (record: T) => void;
};

/**
 * Deletes a record: immediately and with Undo when no other records depend on it, otherwise after a confirmation
 * dialog.
 */
export function useDelete<T>(
  { resource, idOf, nameOf, findDeleteWarning, recreate }: DeletableResource<T>,
  { onDeleted, onRestored }: DeleteCallbacks<T>,
) {
  const [confirmation, setConfirmation] = useState<{ readonly record: T } & DeleteWarning>();
  const deleteRecord = async (record: T, toastOptions: { readonly undo?: () => void }) => {
    if (!(await runWithToast(() => resource.delete(idOf(record))))) return;
    onDeleted(record);
    showToast(`“${nameOf(record)}” deleted.`, toastOptions);
  };
  const startDelete = (record: T) =>
    void runWithToast(async () => {
      const warning = await findDeleteWarning(record);
      if (warning !== undefined) setConfirmation({ record, ...warning });
      else if (recreate === undefined) await deleteRecord(record, {});
      else
        await deleteRecord(record, { undo: () => void runWithToast(async () => onRestored(await recreate(record))) });
    });
  const confirmDialog = confirmation !== undefined && (
    <ConfirmDialog
      title={`Delete “${nameOf(confirmation.record)}”?`}
      confirmLabel={confirmation.confirmLabel}
      onConfirm={() => void deleteRecord(confirmation.record, {})}
      onClose={() => setConfirmation(undefined)}
    >
      {confirmation.text}
    </ConfirmDialog>
  );
  return { startDelete, confirmDialog };
}

/**
 * Returns the input that creates a deleted record again; the API ignores its read-only fields. The creator is
 * omitted, because that user may have been deleted: the current user becomes the creator.
 */
export function toCreateInput<T extends DeletedRecord>(record: T) {
  const { user_id: _, users = [], teams = [], ...rest } = record;
  return { ...rest, users: assigneeIdsOf(users), teams: assigneeIdsOf(teams) };
}

type DeletedRecord = {
  readonly user_id?: string;
  readonly users?: readonly AssignedUser[];
  readonly teams?: readonly AssignedTeam[];
};

/** Formats a count with its singular or plural noun: `1 task`, `3 tasks`. */
export const formatCountWithNoun = (count: number, noun: string) =>
  `${count} ${count === 1 ? noun : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies')}`;

/**
 * Number of dependent records of one resource that a deletion removes. `nestedText` names the records that depend on
 * these, such as ` and all subtasks`.
 */
type DependentCount = { readonly noun: string; readonly count: number; readonly nestedText: string };

/** Counts the dependent records of one resource, by the total that a list request returns. */
export async function countDependents(
  noun: string,
  listRequest: Promise<{ readonly paging: PagePosition }>,
  nestedText = '',
): Promise<DependentCount> {
  return { noun, count: (await listRequest).paging.total_records, nestedText };
}

/** Returns the warning about all dependent records of a record; undefined when there are none. */
export async function describeDependents(
  dependentCountPromises: readonly Promise<DependentCount>[],
): Promise<DeleteWarning | undefined> {
  const [firstDependents, ...otherDependents] = (await Promise.all(dependentCountPromises)).filter(
    ({ count }) => count > 0,
  );
  if (firstDependents === undefined) return undefined;
  const isSingular = firstDependents.count === 1 && firstDependents.nestedText === '' && otherDependents.length === 0;
  const sentenceSubject =
    otherDependents.length === 0
      ? formatDependentsSubject(firstDependents.count, firstDependents.noun)
      : `Its ${formatCountWithNoun(firstDependents.count, firstDependents.noun)}`;
  const otherCountsText = otherDependents.map(({ count, noun }) => `, ${formatCountWithNoun(count, noun)}`).join('');
  return {
    confirmLabel: `Delete with ${formatCountWithNoun(firstDependents.count, firstDependents.noun)}${otherDependents.length > 0 ? ' and more' : ''}`,
    text: `${sentenceSubject}${firstDependents.nestedText}${otherCountsText} ${isSingular ? 'goes' : 'go'} with it.`,
  };
}

/** Returns the subject of a sentence about dependent records: `Its task`, `Its 3 tasks`. */
export const formatDependentsSubject = (count: number, noun: string) =>
  count === 1 ? `Its ${noun}` : `Its ${formatCountWithNoun(count, noun)}`;
