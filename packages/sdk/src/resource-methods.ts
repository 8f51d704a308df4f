import type { Id, Page, PageWindow } from './api-types.ts';
import { etagOf, pageOf, parseNextPageLink, recordOf } from './response-body.ts';
import type { CallOptions, ChangeOptions, PostOptions, QueryValue, Send } from './transport.ts';

/** Options for reading a single record. */
export type GetOptions<T> = CallOptions & {
  /**
   * A record from an earlier read. If it is unchanged, the same object is returned, and the service sends no body (X5).
   */
  readonly known?: T | undefined;
};

/** The method of a resource that reads one record (C8). */
export interface GetMethod<T> {
  /**
   * Returns the record. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * const event = await carillon.events.get('7');
   * const newest = await carillon.events.get('7', { known: event });
   * ```
   */
  get(id: Id, options?: GetOptions<T>): Promise<T>;
}

/** The method of a resource that creates a record at the path of the resource (C8). */
export interface CreateMethod<T, Input> {
  /**
   * Creates a record and returns it. Errors: `invalid_input`, `not_found` for an id in the input, `not_permitted`.
   *
   * @example
   * ```ts
   * const client = await carillon.clients.create({ client_name: 'ACME' });
   * ```
   */
  create(input: Input, options?: PostOptions): Promise<T>;
}

/** The method of a resource that creates a record below a parent (C34). */
export interface CreateChildMethod<T, Input> {
  /**
   * Creates a record below its parent and returns it. Errors: as for `create` without a parent, and `not_found` for the
   * parent.
   *
   * @example
   * ```ts
   * const { project_id } = await carillon.projects.create({ project_name: 'Website' });
   * const task = await carillon.tasks.create(project_id, { task_name: 'Draft' });
   * ```
   */
  create(parentId: Id, input: Input, options?: PostOptions): Promise<T>;
}

/** The method of a resource that changes a record (C8). */
export interface UpdateMethod<T, Changes> {
  /**
   * Changes the given fields and returns the whole record.
   * Errors: `invalid_input`, `not_found`, `not_permitted`; `precondition_failed` with `ifMatch`.
   *
   * @example
   * ```ts
   * const client = await carillon.clients.update('7', { client_name: 'ACME Ltd' });
   * ```
   */
  update(id: Id, changes: Changes, options?: ChangeOptions): Promise<T>;
}

/** The method of a resource that deletes a record (C8). */
export interface DeleteMethod {
  /**
   * Deletes the record. Errors: `not_found`, also if it was already deleted; `not_permitted`; `precondition_failed`
   * with `ifMatch`.
   *
   * @example
   * ```ts
   * await carillon.events.delete('7');
   * ```
   */
  delete(id: Id, options?: ChangeOptions): Promise<void>;
}

/** The methods of a resource that complete and reopen a record (C33). */
export interface CompleteMethods<T> {
  /**
   * Completes the record; completes a task together with its open subtasks. Does nothing and notifies no hook if the
   * record is already complete. Errors: as for `update`.
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

/** The methods of a resource whose records can be listed, read, changed and deleted. */
export type EditableMethods<T, Changes, Filters extends PageWindow> = ListMethods<T, Filters> &
  GetMethod<T> &
  UpdateMethod<T, Changes> &
  DeleteMethod;

/**
 * Creates the methods that list, read, change and delete records at `/{resource}`.
 *
 * @param idField name of the field that contains the id of a record
 */
export function buildEditableMethods<T extends object, Changes, Filters extends ListFilters>(
  send: Send,
  resourceType: string,
  idField: keyof T,
): EditableMethods<T, Changes, Filters> {
  return {
    ...buildListMethods<T, Filters>(send, resourceType, idField),
    ...buildGetMethod<T>(send, resourceType),
    ...buildUpdateMethod<T, Changes>(send, resourceType),
    ...buildDeleteMethod(send, resourceType),
  };
}

/** Creates the method that reads a record at `/{resource}/{id}`. */
export function buildGetMethod<T extends object>(send: Send, resourceType: string): GetMethod<T> {
  return {
    async get(id, { known, ...options } = {}) {
      const preconditionOptions = known === undefined ? {} : { ifNoneMatch: etagOf(known) };
      const response = await send({ ...options, ...preconditionOptions, method: 'GET', path: [resourceType, id] });
      return known !== undefined && response.status === 304 ? known : recordOf(response);
    },
  };
}

/** Creates the method that creates a record by POST to `/{resource}`. */
export function buildCreateMethod<T, Input>(send: Send, resourceType: string): CreateMethod<T, Input> {
  return {
    create: async (input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType], body: input })),
  };
}

/** Creates the method that creates a record by POST to `/{resource}/{parentId}`. */
export function buildCreateChildMethod<T, Input>(send: Send, resourceType: string): CreateChildMethod<T, Input> {
  return {
    create: async (parentId, input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [resourceType, parentId], body: input })),
  };
}

/** Creates the method that changes a record by PUT to `/{resource}/{id}`. */
export function buildUpdateMethod<T, Changes>(send: Send, resourceType: string): UpdateMethod<T, Changes> {
  return {
    update: async (id, changes, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: [resourceType, id], body: changes })),
  };
}

/** Creates the method that deletes a record at `/{resource}/{id}`. */
export function buildDeleteMethod(send: Send, resourceType: string): DeleteMethod {
  return {
    delete: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: [resourceType, id] });
    },
  };
}

/** Creates the methods that complete and reopen a record by PUT to `/{resource}/{id}`. */
export function buildCompleteMethods<T>(send: Send, resourceType: string): CompleteMethods<T> {
  const { update } = buildUpdateMethod<T, { completed: 1 } | { resume: 1 }>(send, resourceType);
  return {
    complete: (id, options) => update(id, { completed: 1 }, options),
    resume: (id, options) => update(id, { resume: 1 }, options),
  };
}

/** Filters and paging parameters of a list. */
export type ListFilters = PageWindow & Readonly<Record<string, QueryValue>>;

/** The methods of a resource that list its records (C7). */
export interface ListMethods<T, Filters extends PageWindow> {
  /**
   * Returns one page, in a total and stable order. Errors: `invalid_input` for a malformed filter, `not_permitted`.
   *
   * @example
   * ```ts
   * const { data, next } = await carillon.events.list({ from: '20270301', limit: 50 });
   * const following = await carillon.events.list({ from: '20270301', limit: 50, after: next });
   * ```
   */
  list(filters?: Filters, options?: CallOptions): Promise<Page<T>>;
  /**
   * Yields all records from `offset` on, each once. Pages of `limit` records are loaded as they are consumed;
   * `timeoutMs` applies to each page. No record is missed while others are added or deleted, so the loop may delete
   * each record. A record whose position in the list changes may be missed. Errors: as for `list`.
   *
   * @example
   * ```ts
   * for await (const event of carillon.events.each({ from: '20270301' })) {
   *   showEvent(event.event_name, event.start_date);
   * }
   * ```
   */
  each(filters?: Filters, options?: CallOptions): AsyncGenerator<T, void, undefined>;
}

/**
 * Creates the methods that list records at `/{resource}`.
 *
 * @param idFields names of the fields that identify a record
 */
export function buildListMethods<T, Filters extends ListFilters>(
  send: Send,
  resourceType: string,
  ...idFields: readonly (keyof T)[]
): ListMethods<T, Filters> {
  const idOf = (record: T) => idFields.map((name) => record[name]).join(' ');
  const requestPage = (filters: ListFilters, options?: CallOptions) =>
    send({ ...options, method: 'GET', path: [resourceType], query: filters });
  return {
    list: async (filters, options) => pageOf(await requestPage(filters ?? {}, options)),
    async *each(filters, options) {
      const yieldedIds = new Set<string>();
      for (let nextFilters: ListFilters | undefined = filters ?? {}; nextFilters !== undefined; ) {
        const response = await requestPage(nextFilters, options);
        for (const record of pageOf<T>(response).data) {
          options?.signal?.throwIfAborted();
          if (yieldedIds.has(idOf(record))) continue;
          yieldedIds.add(idOf(record));
          yield record;
        }
        const nextPageQuery = parseNextPageLink(response);
        nextFilters = nextPageQuery && { ...filters, ...nextPageQuery };
      }
    },
  };
}
