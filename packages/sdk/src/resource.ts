import type { Id, Window } from './api-types.ts';
import { etagOf } from './etag.ts';
import { type Filters, type Lists, lists } from './pages.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, ChangeOptions, OnceOptions, Send } from './transport.ts';

/** Options of reading a single record. */
export type GetOptions<T> = CallOptions & {
  /** A record from an earlier read: if it is unchanged, it is returned, and the service sends no body. X5. */
  readonly known?: T | undefined;
};

/** A resource with single records. C8. */
export interface Gets<T> {
  /**
   * The record. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * const event = await carillon.events.get('7');
   * const newest = await carillon.events.get('7', { known: event });
   * ```
   */
  get(id: Id, options?: GetOptions<T>): Promise<T>;
}

/** A resource whose records are created at its own path. C8. */
export interface Creates<T, I> {
  /**
   * Creates a record and returns it. Errors: `invalid_input`, `not_found` for an id in the input, `not_permitted`.
   *
   * @example
   * ```ts
   * const client = await carillon.clients.create({ client_name: 'ACME' });
   * ```
   */
  create(input: I, options?: OnceOptions): Promise<T>;
}

/** A resource whose records are created below a parent. C34. */
export interface CreatesUnder<T, I> {
  /**
   * Creates a record below its parent and returns it. Errors: as for `create`, and `not_found` for the parent.
   *
   * @example
   * ```ts
   * const { project_id } = await carillon.projects.create({ project_name: 'Website' });
   * const task = await carillon.tasks.create(project_id, { task_name: 'Draft' });
   * ```
   */
  create(parentId: Id, input: I, options?: OnceOptions): Promise<T>;
}

/** A resource whose records can be changed. C8. */
export interface Updates<T, I> {
  /**
   * Changes the given fields and returns the whole record.
   * Errors: `invalid_input`, `not_found`, `not_permitted`; `precondition_failed` with `ifMatch`.
   *
   * @example
   * ```ts
   * const client = await carillon.clients.update('7', { client_name: 'ACME Ltd' });
   * ```
   */
  update(id: Id, changes: I, options?: ChangeOptions): Promise<T>;
}

/** A resource whose records can be deleted. C8. */
export interface Deletes {
  /**
   * Deletes the record.
   * Errors: `not_found`, also the second time; `not_permitted`; `precondition_failed` with `ifMatch`.
   *
   * @example
   * ```ts
   * await carillon.events.delete('7');
   * ```
   */
  delete(id: Id, options?: ChangeOptions): Promise<void>;
}

/** A resource whose records can be completed. C33. */
export interface Completes<T> {
  /**
   * Completes the record, a task with its open subtasks. Does nothing and notifies no hook if it is already complete.
   * Errors: as for `update`.
   *
   * @example
   * ```ts
   * const task = await carillon.tasks.complete('7');
   * ```
   */
  complete(id: Id, options?: ChangeOptions): Promise<T>;
  /**
   * Reopens the record. Errors: as for `update`.
   *
   * @example
   * ```ts
   * const task = await carillon.tasks.resume('7');
   * ```
   */
  resume(id: Id, options?: ChangeOptions): Promise<T>;
}

/** A resource whose records can be listed, read, changed and deleted. */
export type Editable<T, C, F extends Window> = Lists<T, F> & Gets<T> & Updates<T, C> & Deletes;

/** Lists, reads, changes and deletes at `/{resource}`; `id` is the field with the id. */
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

/** Reads `/{resource}/{id}`. */
export function gets<T extends object>(send: Send, resourceType: string): Gets<T> {
  return {
    async get(id, { known, ...options } = {}) {
      const condition = known === undefined ? {} : { ifNoneMatch: etagOf(known) };
      const response = await send({ ...options, ...condition, method: 'GET', path: [resourceType, id] });
      return known !== undefined && response.status === 304 ? known : recordOf(response);
    },
  };
}

/** Creates by POST to `/{resource}`. */
export function creates<T, I>(send: Send, resourceType: string): Creates<T, I> {
  return {
    create: async (input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType], body: input })),
  };
}

/** Creates by POST to `/{resource}/{parentId}`. */
export function createsUnder<T, I>(send: Send, resourceType: string): CreatesUnder<T, I> {
  return {
    create: async (parentId, input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType, parentId], body: input })),
  };
}

/** Changes by PUT to `/{resource}/{id}`. */
export function updates<T, I>(send: Send, resourceType: string): Updates<T, I> {
  return {
    update: async (id, changes, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: [resourceType, id], body: changes })),
  };
}

/** Deletes `/{resource}/{id}`. */
export function deletes(send: Send, resourceType: string): Deletes {
  return {
    delete: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: [resourceType, id] });
    },
  };
}

/** Completes and reopens by PUT to `/{resource}/{id}`. */
export function completes<T>(send: Send, resourceType: string): Completes<T> {
  const { update } = updates<T, { completed: 1 } | { resume: 1 }>(send, resourceType);
  return {
    complete: (id, options) => update(id, { completed: 1 }, options),
    resume: (id, options) => update(id, { resume: 1 }, options),
  };
}
