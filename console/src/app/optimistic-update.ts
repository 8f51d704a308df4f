import type { AssignedTeam, AssignedUser } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { GetMethod, UpdateMethod } from '../../../packages/sdk/src/resource-methods.ts';
import { errorMessage } from './use-query.ts';

/** Thrown when another user has changed the same field since the record was displayed. */
export class EditConflictError<T> extends Error {
  override readonly name = 'EditConflictError';
  /** The current record on the server. */
  readonly record: T;

  constructor(record: T) {
    super('Somebody else has changed this meanwhile.');
    this.record = record;
  }
}

/**
 * Updates a record with optimistic concurrency per field. Only the changed fields are sent, so that concurrent edits
 * of other fields are kept. Nothing is sent when a changed field no longer has its expected value on the server.
 *
 * @param expected the record as displayed when the user began to edit
 * @throws EditConflictError with the current record
 */
export async function updateIfUnchanged<T extends object, C extends object>(
  resource: GetMethod<T> & UpdateMethod<T, C>,
  id: string,
  changes: C,
  expected: T,
): Promise<T> {
  const current = await resource.get(id);
  const isConflict = Object.keys(changes).some((field) => fieldAsJson(current, field) !== fieldAsJson(expected, field));
  if (isConflict) throw new EditConflictError(current);
  return resource.update(id, changes);
}

/** Returns the changes that undo an update: the previous value of each changed field. */
export function inverseChanges<T extends object, C extends object>(changes: C, before: T): C {
  const previousValue = (field: string) => {
    const value: unknown = Reflect.get(before, field);
    return Array.isArray(value) ? idsOf(value) : value;
  };
  return Object.fromEntries(Object.keys(changes).map((field) => [field, previousValue(field)])) as C;
}

/** Returns the ids of assigned users or teams: requests to the API contain ids instead of objects. */
export function idsOf(assigned: readonly (AssignedUser | AssignedTeam)[]): string[] {
  return assigned.map((assignee) => ('user_id' in assignee ? assignee.user_id : assignee.team_id));
}

function fieldAsJson(record: object, field: string): string {
  return JSON.stringify(Reflect.get(record, field));
}

/** Returns the first validation error as a sentence to show next to the field; `label` is its subject. */
export function fieldError(error: unknown, label: string): string {
  const [first] = error instanceof CarillonError ? error.errors : [];
  return first === undefined ? errorMessage(error) : `${label} ${first.message.replaceAll('_', ' ')}.`;
}
