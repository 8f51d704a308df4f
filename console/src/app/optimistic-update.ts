import type { Assigned, AssignedTeam } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Gets, Updates } from '../../../packages/sdk/src/resource-methods.ts';
import { errorMessage } from './use-query.ts';

/** Edit conflict: another user has changed the same field in the meantime. */
export class EditConflictError<T> extends Error {
  override readonly name = 'EditConflictError';
  /** The current record. */
  readonly record: T;

  constructor(record: T) {
    super('Somebody else has changed this meanwhile.');
    this.record = record;
  }
}

/**
 * Optimistic concurrency per field: sends only the changed fields, so that concurrent edits of other fields are
 * kept. Sends nothing when one of these fields no longer has the expected value.
 *
 * @param expected the record as displayed when the user began to edit
 * @throws EditConflictError with the current record
 */
export async function change<T extends object, C extends object>(
  resource: Gets<T> & Updates<T, C>,
  id: string,
  changes: C,
  expected: T,
): Promise<T> {
  const now = await resource.get(id);
  const isConflict = Object.keys(changes).some((field) => serialized(now, field) !== serialized(expected, field));
  if (isConflict) throw new EditConflictError(now);
  return resource.update(id, changes);
}

/** The inverse of a change, for Undo. */
export function restore<T extends object, C extends object>(changes: C, before: T): C {
  const previousValue = (field: string) => {
    const value: unknown = Reflect.get(before, field);
    return Array.isArray(value) ? idsOf(value) : value;
  };
  return Object.fromEntries(Object.keys(changes).map((field) => [field, previousValue(field)])) as C;
}

/** Ids of assigned users or teams, the form in which the API accepts them. */
export function idsOf(assigned: readonly (Assigned | AssignedTeam)[]): string[] {
  return assigned.map((one) => ('user_id' in one ? one.user_id : one.team_id));
}

function serialized(record: object, field: string): string {
  return JSON.stringify(Reflect.get(record, field));
}

/** The validation error of one field as a sentence to show next to it. */
export function fieldError(error: unknown, label: string): string {
  const [first] = error instanceof CarillonError ? error.errors : [];
  return first === undefined ? errorMessage(error) : `${label} ${first.message.replaceAll('_', ' ')}.`;
}
