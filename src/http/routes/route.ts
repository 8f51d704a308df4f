import type { Caller, Permission } from '../../permissions.ts';
import type { ProblemCode } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { LockMode } from '../../store/store.ts';
import type { LongField } from '../body/streamed-field.ts';
import type { TextFile } from '../body/temporary-file.ts';
import {
  type Changed,
  type Created,
  type Fields,
  type JsonSchema,
  responseSchema,
  type Shown,
  serializeRecord,
} from '../fields/field.ts';
import { type BodySpec, change, creation } from '../fields/validate-body.ts';
import { beginListing, type Listing } from './list-response.ts';
import { listSchema, MAX_RECORDS, type Page, type Paging, pagingParameters, recordSchema } from './pagination.ts';
import { type Given, type Parameters, type RawQuery, readQuery } from './query-parameters.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What reached a route: ids from its path, by name; its query; its body, undefined if there was none. */
export type Input = {
  readonly ids: Readonly<Record<string, number>>;
  readonly query: RawQuery;
  readonly body: unknown;
  /** The text of the row's `longField`, where there is one. */
  readonly text?: TextFile | undefined;
};

/** What a route answers. `created` is the path of what was created, without the door's prefix. */
export type RouteResult = {
  readonly body: unknown;
  /** A list, whose body is written from it. */
  readonly listing?: Listing;
  /** The status that was answered before, where this call was made before (X4). */
  readonly repeats?: number;
  readonly created?: string;
};

/** From where what happens is read: behind a cursor, behind all that there is, or from the oldest that is kept; and how many. */
export type FeedRequest = { readonly after: number | 'latest' | undefined; readonly limit: number };

/**
 * What was found behind a cursor: entries as they are answered, each with its own cursor and kind; the cursor to go on
 * with, which lies behind what was left out, too; and whether there is nothing more at this moment.
 */
export type FeedSlice = {
  readonly entries: readonly { readonly cursor: number; readonly kind: string; readonly shown: unknown }[];
  readonly next: number;
  readonly isEnd: boolean;
};

/**
 * A route, as a sentence: method, path, what it says, who may, what it takes, what it answers, what it records, one
 * call. Registration, validation, OpenAPI, docs and the walks over all routes are derived from these rows.
 */
export type Route = {
  readonly method: Method;
  /** Below the door (`/v2`), ids in braces: `/events/{event_id}`. Every name in braces is an id. */
  readonly path: string;
  readonly description: string;
  /** The path that says the same, which clients use. */
  readonly aliasOf?: string;
  /** What the key must carry; undefined where every key will do. */
  readonly permission: Permission | undefined;
  readonly parameters: Parameters;
  readonly body: JsonSchema | undefined;
  /** The field of its body whose text may be long: that text goes into a file, and `body` has a stand-in for it. */
  readonly longField?: LongField;
  readonly status: 200 | 201 | 202;
  readonly answer: JsonSchema;
  /** The kinds of occurrence that a call may record; empty for a read, and for what is no noun of the feed. */
  readonly records: readonly string[];
  /** What it can answer beside the problems that every route has. */
  readonly problems: readonly ProblemCode[];
  /** Its path is that of a single record, which a request may lay conditions on (X5). */
  readonly conditional: boolean;
} & (
  | {
      readonly mode: 'read';
      /** It waits for others than the database, who may take their time: nobody's reads wait for it. */
      readonly bypassesReadLimit?: true;
      run(view: AccountView, caller: Caller, input: Input): Promise<RouteResult>;
    }
  | {
      /** A read of what happens, which can be waited for and streamed (X2). */
      readonly mode: 'follow';
      look(
        view: AccountView,
        caller: Caller,
        given: Readonly<Record<string, unknown>>,
        reading: FeedRequest,
      ): Promise<FeedSlice>;
    }
  | {
      readonly mode: 'write';
      /** Whether other writes of the account wait for it. */
      readonly lockMode: LockMode;
      /** What must be known before the transaction begins, such as a name resolved; inside it only queries are awaited. */
      prepare?(caller: Caller, input: Input, view: AccountView, source: string): Promise<unknown>;
      /** @param found what `prepare` has found; see `inTwo` */
      run(write: AccountWrite, caller: Caller, input: Input, found: unknown): Promise<RouteResult>;
    }
  | {
      /**
       * A write of many, in transactions one after the other, so that nobody waits for all of them. What is done stays
       * done, and to be called again has to do no harm.
       */
      readonly mode: 'steps';
      run(steps: Steps, caller: Caller, input: Input): Promise<RouteResult>;
    }
);

/** What a write in steps is handed: a view of the account, and transactions in which nobody else of it writes. */
export type Steps = {
  readonly view: AccountView;
  write<T>(work: (write: AccountWrite) => Promise<T>): Promise<T>;
};

/** The two halves of a write that needs something slow first: what the first one finds, the second one is given. */
export function prepared<T>(halves: {
  /** @param source the caller's address */
  prepare(caller: Caller, input: Input, view: AccountView, source: string): Promise<T>;
  run(write: AccountWrite, caller: Caller, input: Input, found: T): Promise<RouteResult>;
}): Pick<Extract<Route, { mode: 'write' }>, 'mode' | 'prepare' | 'run'> {
  return {
    mode: 'write',
    prepare: halves.prepare,
    run: (write, caller, input, found) => halves.run(write, caller, input, found as T),
  };
}

/** The ids in a path, by name: `/events/{event_id}` gives `{ event_id: number }`. */
export type Ids<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: number } & Ids<Rest>
  : unknown;

/** What the beginning of every row says. */
export type Head<Path extends string> = {
  path: Path;
  description: string;
  permission: Permission | undefined;
  problems?: readonly ProblemCode[];
};

/** A list: `{ paging, data }` in a total and stable order (C7). */
export function list<Path extends string, P extends Parameters, F extends Fields>(
  row: Head<Path> & {
    parameters: P;
    fields: F;
    call: (
      view: AccountView,
      caller: Caller,
      given: Given<P>,
      paging: Paging,
      ids: Ids<Path>,
    ) => Promise<Page<Shown<F>>>;
  },
): Route {
  const parameters = { ...row.parameters, ...pagingParameters };
  return {
    ...head(row),
    method: 'GET',
    parameters,
    body: undefined,
    status: 200,
    answer: listSchema(responseSchema(row.fields)),
    records: [],
    conditional: false,
    mode: 'read',
    async run(view, caller, input) {
      const { limit = MAX_RECORDS, offset = 0, after, ...given } = readQuery(parameters, input.query);
      const paging = { offset, limit, after };
      const page = await row.call(view, caller, given as Given<P>, paging, input.ids as Ids<Path>);
      const listing = await beginListing(page, paging, (record) => serializeRecord(row.fields, record));
      return { body: undefined, listing };
    },
  };
}

/** One record: `{ data }` (C8). */
export function get<Path extends string, F extends Fields>(
  row: Head<Path> & { fields: F; call: (view: AccountView, caller: Caller, ids: Ids<Path>) => Promise<Shown<F>> },
): Route {
  return {
    ...head(row),
    method: 'GET',
    parameters: {},
    body: undefined,
    status: 200,
    answer: recordSchema(responseSchema(row.fields)),
    records: [],
    conditional: true,
    mode: 'read',
    run: async (view, caller, input) => ({
      body: { data: serializeRecord(row.fields, await row.call(view, caller, input.ids as Ids<Path>)) },
    }),
  };
}

/** A creation: 201 `{ data }` and where it is (C8). */
export function create<Path extends string, F extends Fields, K extends keyof F & string, T extends Fields = F>(
  row: Head<Path> & {
    fields: F;
    /** What a creation takes, where that is not what is shown. */
    takes?: T;
    records: readonly string[];
    /** Other than beside the account's other writes. */
    holding?: LockMode;
    /** Where the created record is: a collection, and the field that holds its id. */
    at: { collection: string; key: K };
    call: (write: AccountWrite, caller: Caller, input: Created<T>, ids: Ids<Path>) => Promise<Shown<F>>;
  },
): Route {
  const spec = creation(row.takes ?? row.fields) as BodySpec<Created<T>>;
  return {
    ...head(row),
    method: 'POST',
    parameters: {},
    body: spec.schema,
    status: 201,
    answer: recordSchema(responseSchema(row.fields)),
    records: row.records,
    conditional: false,
    mode: 'write',
    // It reads no more than whether what it belongs to is there; only writes that are alone take that away.
    lockMode: row.holding ?? 'beside',
    async run(write, caller, input) {
      const record = serializeRecord(
        row.fields,
        await row.call(write, caller, spec.read(input.body), input.ids as Ids<Path>),
      );
      return { body: { data: record }, created: `${row.at.collection}/${record[row.at.key]}` };
    },
  };
}

/** A change of what was given, no more: 200 `{ data }` (C8). */
export function update<Path extends string, F extends Fields, T extends Fields = F>(
  row: Head<Path> & {
    fields: F;
    /** What a change takes, where that is not what is shown. */
    takes?: T;
    records: readonly string[];
    call: (write: AccountWrite, caller: Caller, input: Changed<T>, ids: Ids<Path>) => Promise<Shown<F>>;
  },
): Route {
  const spec = change(row.takes ?? row.fields) as BodySpec<Changed<T>>;
  return {
    ...head(row),
    method: 'PUT',
    parameters: {},
    body: spec.schema,
    status: 200,
    answer: recordSchema(responseSchema(row.fields)),
    records: row.records,
    conditional: true,
    mode: 'write',
    lockMode: 'alone',
    async run(write, caller, input) {
      return {
        body: {
          data: serializeRecord(
            row.fields,
            await row.call(write, caller, spec.read(input.body), input.ids as Ids<Path>),
          ),
        },
      };
    },
  };
}

/** A deletion: 200 `[]` (C8). */
export function remove<Path extends string>(
  row: Head<Path> & {
    records: readonly string[];
    call: (write: AccountWrite, caller: Caller, ids: Ids<Path>) => Promise<void>;
  },
): Route {
  return {
    ...head(row),
    method: 'DELETE',
    parameters: {},
    body: undefined,
    status: 200,
    answer: { type: 'array', maxItems: 0, items: {} },
    records: row.records,
    // What stands below a record is read together with it, and has no tag of its own.
    conditional: row.path.endsWith('}'),
    mode: 'write',
    lockMode: 'alone',
    async run(write, caller, input) {
      await row.call(write, caller, input.ids as Ids<Path>);
      return { body: [] };
    },
  };
}

/** Something that is asked for: POST without a body that matters, answered with a record. */
export function action<Path extends string, F extends Fields>(
  row: Head<Path> & {
    status: 200 | 202;
    fields: F;
    call: (write: AccountWrite, caller: Caller, ids: Ids<Path>) => Promise<Shown<F>>;
  },
): Route {
  return {
    ...head(row),
    method: 'POST',
    parameters: {},
    body: undefined,
    status: row.status,
    answer: recordSchema(responseSchema(row.fields)),
    records: [],
    conditional: false,
    mode: 'write',
    lockMode: 'alone',
    run: async (write, caller, input) => ({
      body: { data: serializeRecord(row.fields, await row.call(write, caller, input.ids as Ids<Path>)) },
    }),
  };
}

function head(row: Head<string>) {
  return { path: row.path, description: row.description, permission: row.permission, problems: row.problems ?? [] };
}

/** The names of the ids in a path, in order. */
export function idNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** What the `body` of a row that is read by hand needs. */
export type { BodySpec };
