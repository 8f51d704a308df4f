import { type Answer, type CallOptions, type QueryValue, type Send, unexpected } from './transport.ts';
import type { Id, Page, Window } from './wire.ts';

type Filters = Window & Readonly<Record<string, QueryValue>>;

/** A noun that can be listed. C7. */
export interface Lists<T, F extends Window> {
  /** One page, in a total and stable order. Errors: `invalid_input` for a malformed filter, `not_permitted`. */
  list(filters?: F, options?: CallOptions): Promise<Page<T>>;
  /**
   * Every record from `offset` on, page after page as they are consumed; `limit` is the size of a page, and
   * `timeoutMs` counts for each page. Records that others delete meanwhile shift the list, so that one may be missed.
   */
  each(filters?: F, options?: CallOptions): AsyncGenerator<T, void, undefined>;
}

/** A noun with single records. C8. */
export interface Gets<T> {
  /** The record. Errors: `not_found`, `not_permitted`. */
  get(id: Id, options?: CallOptions): Promise<T>;
}

/** A noun whose records are created at its own path. C8. */
export interface Creates<T, I> {
  /** Creates a record and gives it back. Errors: `invalid_input`, `not_found` for an id in the input, `not_permitted`. */
  create(input: I, options?: CallOptions): Promise<T>;
}

/** A noun whose records are created below a parent. C34. */
export interface CreatesUnder<T, I> {
  /** Creates a record below its parent and gives it back. Errors: as for others, and `not_found` for the parent. */
  create(parentId: Id, input: I, options?: CallOptions): Promise<T>;
}

/** A noun whose records can be changed. C8. */
export interface Updates<T, I> {
  /** Changes only what is given and gives the whole record back. Errors: `invalid_input`, `not_found`, `not_permitted`. */
  update(id: Id, changes: I, options?: CallOptions): Promise<T>;
}

/** A noun whose records can be deleted. C8. */
export interface Deletes {
  /** Deletes the record. Errors: `not_found`, also the second time; `not_permitted`. */
  delete(id: Id, options?: CallOptions): Promise<void>;
}

/** A noun whose records can be completed. C33. */
export interface Completes<T> {
  /** Completes the record, a task with its open subtasks. What is complete already stays so, and nobody is told. */
  complete(id: Id, options?: CallOptions): Promise<T>;
  /** Opens the record again. */
  resume(id: Id, options?: CallOptions): Promise<T>;
}

/** A noun whose records can be found, changed and deleted, however they are created. */
export type Editable<T, C, F extends Window> = Lists<T, F> & Gets<T> & Updates<T, C> & Deletes;

/** Lists, reads, changes and deletes `/{noun}`. */
export function editable<T, C, F extends Filters>(send: Send, noun: string): Editable<T, C, F> {
  return { ...lists<T, F>(send, noun), ...gets<T>(send, noun), ...updates<T, C>(send, noun), ...deletes(send, noun) };
}

/** Lists `/{noun}`. */
export function lists<T, F extends Filters>(send: Send, noun: string): Lists<T, F> {
  async function page(filters: Filters, options?: CallOptions): Promise<Page<T>> {
    return pageOf(await send({ ...options, method: 'GET', path: [noun], query: filters }));
  }
  return {
    list: (filters, options) => page(filters ?? {}, options),
    async *each(filters, options) {
      let offset = filters?.offset ?? 0;
      while (true) {
        const { paging, data } = await page({ ...filters, offset }, options);
        yield* data;
        offset += data.length;
        if (data.length === 0 || offset >= paging.total_records) return;
      }
    },
  };
}

/** Reads `/{noun}/{id}`. */
export function gets<T>(send: Send, noun: string): Gets<T> {
  return {
    get: async (id, options) => recordOf(await send({ ...options, method: 'GET', path: [noun, id] })),
  };
}

/** Creates by POST to `/{noun}`. */
export function creates<T, I>(send: Send, noun: string): Creates<T, I> {
  return {
    create: async (input, options) => recordOf(await send({ ...options, method: 'POST', path: [noun], body: input })),
  };
}

/** Creates by POST to `/{noun}/{parentId}`. */
export function createsUnder<T, I>(send: Send, noun: string): CreatesUnder<T, I> {
  return {
    create: async (parentId, input, options) =>
      recordOf(await send({ ...options, method: 'POST', path: [noun, parentId], body: input })),
  };
}

/** Changes by PUT to `/{noun}/{id}`. */
export function updates<T, I>(send: Send, noun: string): Updates<T, I> {
  return {
    update: async (id, changes, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: [noun, id], body: changes })),
  };
}

/** Deletes `/{noun}/{id}`. */
export function deletes(send: Send, noun: string): Deletes {
  return {
    delete: async (id, options) => {
      await send({ ...options, method: 'DELETE', path: [noun, id] });
    },
  };
}

/** Completes and resumes by PUT to `/{noun}/{id}`. */
export function completes<T>(send: Send, noun: string): Completes<T> {
  const { update } = updates<T, { completed: 1 } | { resume: 1 }>(send, noun);
  return {
    complete: (id, options) => update(id, { completed: 1 }, options),
    resume: (id, options) => update(id, { resume: 1 }, options),
  };
}

/** The record in `{ data }`. Its fields are the service's promise; only the envelope is checked. C8. */
export function recordOf<T>({ status, body }: Answer): T {
  const data = fieldOf(body, 'data');
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw unexpected(status, `The answer is ${status} and holds no record.`);
  }
  return data as T;
}

function pageOf<T>({ status, body }: Answer): Page<T> {
  const data = fieldOf(body, 'data');
  const paging = fieldOf(body, 'paging');
  const [offset, limit, total_records] = ['offset', 'limit', 'total_records'].map((name) => fieldOf(paging, name));
  const isPage = Array.isArray(data) && [offset, limit, total_records].every(Number.isInteger);
  if (!isPage) throw unexpected(status, `The answer is ${status} and holds no list.`);
  return body as Page<T>;
}

/** A field of something that came over the wire; absent is `undefined`. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}
