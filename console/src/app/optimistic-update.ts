import type { Assigned, AssignedTeam } from '../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Gets, Updates } from '../../../packages/sdk/src/resource.ts';
import { explain } from './use-query.ts';

/** Somebody else has meanwhile changed the very thing that was to be changed. */
export class Overtaken<T> extends Error {
  override readonly name = 'Overtaken';
  /** The record as it is now. */
  readonly record: T;

  constructor(record: T) {
    super('Somebody else has changed this meanwhile.');
    this.record = record;
  }
}

/**
 * Changes what is given of a record and sends nothing else, so that what others change beside it stays. Is one of these
 * fields no longer as it was seen, nothing is sent at all.
 *
 * @param seen the record as whoever changes it has seen it
 * @throws Overtaken
 */
export async function change<T extends object, C extends object>(
  noun: Gets<T> & Updates<T, C>,
  id: string,
  changes: C,
  seen: T,
): Promise<T> {
  const now = await noun.get(id);
  const isOvertaken = Object.keys(changes).some((field) => written(now, field) !== written(seen, field));
  if (isOvertaken) throw new Overtaken(now);
  return noun.update(id, changes);
}

/** What brings the fields of a change back to what they were. */
export function restore<T extends object, C extends object>(changes: C, before: T): C {
  const was = (field: string) => {
    const value: unknown = Reflect.get(before, field);
    return Array.isArray(value) ? idsOf(value) : value;
  };
  return Object.fromEntries(Object.keys(changes).map((field) => [field, was(field)])) as C;
}

/** Those who are assigned, as they are written: users or teams by their ids. */
export function idsOf(assigned: readonly (Assigned | AssignedTeam)[]): string[] {
  return assigned.map((one) => ('user_id' in one ? one.user_id : one.team_id));
}

/** A field as it can be compared. */
function written(record: object, field: string): string {
  return JSON.stringify(Reflect.get(record, field));
}

/** What is wrong with what was given for a field, in a sentence that can stand beside it. */
export function faultIn(error: unknown, label: string): string {
  const [first] = error instanceof CarillonError ? error.errors : [];
  return first === undefined ? explain(error) : `${label} ${first.message.replaceAll('_', ' ')}.`;
}
