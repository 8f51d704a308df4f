import type { AssignedTeam, AssignedUser } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { GetMethod, UpdateMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { describeError } from './use-query.ts';

/** Thrown when another user has changed the same field since the record was displayed. */
export class EditConflictError<T> extends Error {
  override readonly name = 'EditConflictError';
  /** The current record on the server. */
  readonly currentRecord: T;

  constructor(currentRecord: T) {
    super('Somebody else has changed this meanwhile.');
    this.currentRecord = currentRecord;
  }
}

/**
 * Updates a record with optimistic concurrency per field. Only the changed fields are sent, so that concurrent edits
 * of other fields are kept. If the server has a different value than expected for a changed field, this is a conflict,
 * and the function throws instead of sending the update.
 *
 * @param expectedRecord the record as displayed when the user began to edit
 * @throws EditConflictError with the current record, on a conflict
 */
export async function updateIfUnchanged<T extends object, Changes extends object>(
  resource: GetMethod<T> & UpdateMethod<T, Changes>,
  id: string,
  changes: Changes,
  expectedRecord: T,
): Promise<T> {
  const currentRecord = await resource.get(id);
  const isConflict = Object.keys(changes).some(
    (field) => serializeField(currentRecord, field) !== serializeField(expectedRecord, field),
  );
  if (isConflict) throw new EditConflictError(currentRecord);
  return resource.update(id, changes);
}

/** Returns the changes that undo an update: the previous value of each changed field. */
export function buildUndoChanges<T extends object, Changes extends object>(
  changes: Changes,
  previousRecord: T,
): Changes {
  const getPreviousValue = (field: string) => {
    const previousValue: unknown = Reflect.get(previousRecord, field);
    return Array.isArray(previousValue) ? assigneeIdsOf(previousValue) : previousValue;
  };
  return Object.fromEntries(Object.keys(changes).map((field) => [field, getPreviousValue(field)])) as Changes;
}

/** Returns the ids of assigned users or teams, because API requests contain ids instead of objects. */
export function assigneeIdsOf(assignees: readonly (AssignedUser | AssignedTeam)[]): string[] {
  return assignees.map((assignee) => ('user_id' in assignee ? assignee.user_id : assignee.team_id));
}

function serializeField(record: object, field: string): string {
  return JSON.stringify(Reflect.get(record, field));
}

/**
 * Describes an error for display next to a field. A validation error becomes a sentence that begins with `fieldLabel`.
 * If there are several validation errors, only the first is described.
 */
export function describeFieldError(error: unknown, fieldLabel: string): string {
  const [firstError] = error instanceof CarillonError ? error.errors : [];
  return firstError === undefined ? describeError(error) : `${fieldLabel} ${firstError.message.replaceAll('_', ' ')}.`;
}
