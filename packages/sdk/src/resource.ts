import type { Id, Window } from './api-types.ts';
import { etagOf } from './etag.ts';
import { type Filters, type Lists, lists } from './pages.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, ChangeOptions, OnceOptions, Send } from './transport.ts';

/** What may be said about reading a single record. */
export type GetOptions<T> = CallOptions & {
  /** The record as it was read before: while it is still the same, it is what is given, and nothing is sent. X5. */
  readonly known?: T | undefined;
};

/** A noun with single records. C8. */
export interface Gets<T> {
  /** The record. Errors: `not_found`, `not_permitted`. */
  get(id: Id, options?: GetOptions<T>): Promise<T>;
}

/** A noun whose records are created at its own path. C8. */
export interface Creates<T, I> {
  /** Creates a record and gives it back. Errors: `invalid_input`, `not_found` for an id in the input, `not_permitted`. */
  create(input: I, options?: OnceOptions): Promise<T>;
}

/** A noun whose records are created below a parent. C34. */
export interface CreatesUnder<T, I> {
  /** Creates a record below its parent and gives it back. Errors: as for others, and `not_found` for the parent. */
  create(parentId: Id, input: I, options?: OnceOptions): Promise<T>;
}

/** A noun whose records can be changed. C8. */
export interface Updates<T, I> {
  /**
   * Changes only what is given and gives the whole record back.
   * Errors: `invalid_input`, `not_found`, `not_permitted`; `precondition_failed` with `ifMatch`.
   */
  update(id: Id, changes: I, options?: ChangeOptions): Promise<T>;
}

/** A noun whose records can be deleted. C8. */
export interface Deletes {
  /**
   * Deletes the record.
   * Errors: `not_found`, also the second time; `not_permitted`; `precondition_failed` with `ifMatch`.
   */
  delete(id: Id, options?: ChangeOptions): Promise<void>;
}

/** A noun whose records can be completed. C33. */
export interface Completes<T> {
  /**
   * Completes the record, a task with its open subtasks. What is complete already stays so, and nobody is told.
   * Errors: as of `update`.
   */
  complete(id: Id, options?: ChangeOptions): Promise<T>;
  /** Opens the record again. Errors: as of `update`. */
  resume(id: Id, options?: ChangeOptions): Promise<T>;
}

/** A noun whose records can be found, changed and deleted, however they are created. */
export type Editable<T, C, F extends Window> = Lists<T, F> & Gets<T> & Updates<T, C> & Deletes;

/** Lists, reads, changes and deletes `/{noun}`, whose records have their id in this field. */
export function editable<T extends object, C, F extends Filters>(
  send: Send,
  resourceType: string,
  id: keyof T,
): Editable<T, C, F> {
  return {
    ...lists<T, F>(send, resourceType, id),
    ...gets<T>(send, resourceType),
    ...updates<T, C>(send, resourceType),
    ...deletes(send, resourceType),
  };
}

/** Reads `/{noun}/{id}`. */
export function gets<T extends object>(send: Send, resourceType: string): Gets<T> {
  return {
    async get(id, { known, ...options } = {}) {
      const condition = known === undefined ? {} : { ifNoneMatch: etagOf(known) };
      const answer = await send({ ...options, ...condition, method: 'GET', path: [resourceType, id] });
      return known !== undefined && answer.status === 304 ? known : recordOf(answer);
    },
  };
}

/** Creates by POST to `/{noun}`. */
export function creates<T, I>(send: Send, resourceType: string): Creates<T, I> {
  return {
    create: async (input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType], body: input })),
  };
}

/** Creates by POST to `/{noun}/{parentId}`. */
export function createsUnder<T, I>(send: Send, resourceType: string): CreatesUnder<T, I> {
  return {
    create: async (parentId, input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType, parentId], body: input })),
  };
}

/** Changes by PUT to `/{noun}/{id}`. */
export function updates<T, I>(send: Send, resourceType: string): Updates<T, I> {
  return {
    update: async (id, changes, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: [resourceType, id], body: changes })),
  };
}

/** Deletes `/{noun}/{id}`. */
export function deletes(send: Send, resourceType: string): Deletes {
  return {
    delete: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: [resourceType, id] });
    },
  };
}

/** Completes and resumes by PUT to `/{noun}/{id}`. */
export function completes<T>(send: Send, resourceType: string): Completes<T> {
  const { update } = updates<T, { completed: 1 } | { resume: 1 }>(send, resourceType);
  return {
    complete: (id, options) => update(id, { completed: 1 }, options),
    resume: (id, options) => update(id, { resume: 1 }, options),
  };
}
