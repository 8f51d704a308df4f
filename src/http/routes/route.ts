import type { Caller, Permission } from '../../permissions.ts';
import type { ProblemCode } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { LockMode } from '../../store/store.ts';
import type { StreamedField } from '../body/streamed-field.ts';
import type { TemporaryTextFile } from '../body/temporary-file.ts';
import {
  type ChangeInput,
  type CreationInput,
  createRecordSchema,
  type Fields,
  type JsonSchema,
  type StoredRecordOf,
  serializeRecord,
} from '../fields/field.ts';
import { type BodySpec, createChangeBodySpec, createCreationBodySpec } from '../fields/validate-body.ts';
import { loadFirstSlice, type PendingPage } from './list-response.ts';
import {
  createListResponseSchema,
  createRecordResponseSchema,
  MAX_RECORDS_PER_PAGE,
  type Page,
  type PageRequest,
  pagingParameters,
} from './pagination.ts';
import {
  type ParsedParameters,
  parseQueryParameters,
  type QueryParameters,
  type RawQuery,
} from './query-parameters.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The input of a route: the ids in the path by name, the query, and the body (undefined if there is none). */
export type RouteInput = {
  readonly ids: Readonly<Record<string, number>>;
  readonly query: RawQuery;
  readonly body: unknown;
  /** The file with the text of the route's `streamedField`. */
  readonly textFile?: TemporaryTextFile | undefined;
};

/** The result of a route. `createdPath` is the path of a created record, without the prefix of the route group. */
export type RouteResult = {
  readonly body: unknown;
  /** The list that is serialized as the response; `body` is then ignored. */
  readonly pendingPage?: PendingPage;
  /** The status of the stored response, if this is an idempotent replay (X4). */
  readonly replayedStatus?: number;
  readonly createdPath?: string;
};

/** The start of a feed read: after a cursor, after the newest entry (`latest`), or at the oldest entry (undefined). */
export type FeedRequest = { readonly after: number | 'latest' | undefined; readonly limit: number };

/**
 * Feed entries after a cursor. Each entry has its cursor, its event kind and its serialized form. `nextCursor` is the
 * cursor to continue with; it also passes entries that were skipped. `isEnd` is true at the end of the feed.
 */
export type SerializedFeedPage = {
  readonly entries: readonly { readonly cursor: number; readonly kind: string; readonly serializedEntry: unknown }[];
  readonly nextCursor: number;
  readonly isEnd: boolean;
};

/**
 * A route definition. Registration, validation, OpenAPI, docs, the CLI's commands and tests over all routes are
 * derived from these definitions.
 */
export type Route = {
  readonly method: HttpMethod;
  /** Path below the prefix of the route group (`/v2`), ids in braces: `/events/{event_id}`. */
  readonly path: string;
  readonly description: string;
  /** The canonical path, if this route is an alias. */
  readonly aliasOf?: string;
  /** The required permission; undefined if any key may call the route. */
  readonly permission: Permission | undefined;
  readonly parameters: QueryParameters;
  /** Schema of the JSON body; undefined if the route reads no body. */
  readonly bodySchema: JsonSchema | undefined;
  /** A field of the body whose text is streamed to a file; the parsed body contains a placeholder for it. */
  readonly streamedField?: StreamedField;
  /** Status of a successful response. */
  readonly status: 200 | 201 | 202;
  readonly responseSchema: JsonSchema;
  /** Event kinds (occurrences) that a call may record; empty for reads and for resources without occurrences. */
  readonly recordedKinds: readonly string[];
  /** Problems in addition to those of every route. */
  readonly problems: readonly ProblemCode[];
  /** Whether the path is that of a single record, so that requests may have preconditions (X5). */
  readonly supportsPreconditions: boolean;
} & (
  | {
      readonly mode: 'read';
      /** Whether the route runs without a read permit, because it waits for something other than the database. */
      readonly bypassesReadLimit?: true;
      run(view: AccountView, caller: Caller, input: RouteInput): Promise<RouteResult>;
    }
  | {
      /** A read of the feed, which supports long polling and streaming (X2). */
      readonly mode: 'follow';
      read(
        view: AccountView,
        caller: Caller,
        parameterValues: Readonly<Record<string, unknown>>,
        feedRequest: FeedRequest,
      ): Promise<SerializedFeedPage>;
    }
  | {
      readonly mode: 'write';
      /** The account lock of the transaction. */
      readonly lockMode: LockMode;
      /**
       * Does slow work before the transaction, such as resolving a name. Inside the transaction, only queries may be
       * awaited.
       */
      prepare?(caller: Caller, input: RouteInput, view: AccountView, clientIp: string): Promise<unknown>;
      /** @param preparation the result of `prepare`; see `defineWriteWithPreparation` */
      run(write: AccountWrite, caller: Caller, input: RouteInput, preparation: unknown): Promise<RouteResult>;
    }
  | {
      /**
       * A write of many records in consecutive transactions, so that other writes can run in between. It is not atomic:
       * a failed call keeps the completed steps, so repeating it must be safe.
       */
      readonly mode: 'steps';
      run(steps: WriteSteps, caller: Caller, input: RouteInput): Promise<RouteResult>;
    }
);

/** The access of a write in steps to its account: a view, and transactions with an exclusive account lock. */
export type WriteSteps = {
  readonly view: AccountView;
  write<T>(work: (write: AccountWrite) => Promise<T>): Promise<T>;
};

/** Defines a write with slow work before its transaction: `run` receives the result of `prepare`. */
export function defineWriteWithPreparation<T>(handlers: {
  /** @param clientIp the caller's IP address */
  prepare(caller: Caller, input: RouteInput, view: AccountView, clientIp: string): Promise<T>;
  run(write: AccountWrite, caller: Caller, input: RouteInput, preparation: T): Promise<RouteResult>;
}): Pick<Extract<Route, { mode: 'write' }>, 'mode' | 'prepare' | 'run'> {
  return {
    mode: 'write',
    prepare: handlers.prepare,
    run: (write, caller, input, preparation) => handlers.run(write, caller, input, preparation as T),
  };
}

/** The ids in a path, by name: `/events/{event_id}` gives `{ event_id: number }`. */
export type PathIds<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: number } & PathIds<Rest>
  : unknown;

/** Properties that every route definition has. */
export type RouteHead<Path extends string> = {
  path: Path;
  description: string;
  permission: Permission | undefined;
  problems?: readonly ProblemCode[];
};

/** Defines a list: `{ paging, data }` in a total and stable order (C7). */
export function defineListRoute<Path extends string, P extends QueryParameters, F extends Fields>(
  definition: RouteHead<Path> & {
    parameters: P;
    fields: F;
    handle: (
      view: AccountView,
      caller: Caller,
      parameterValues: ParsedParameters<P>,
      paging: PageRequest,
      ids: PathIds<Path>,
    ) => Promise<Page<StoredRecordOf<F>>>;
  },
): Route {
  const parameters = { ...definition.parameters, ...pagingParameters };
  return {
    ...routeHeadOf(definition),
    method: 'GET',
    parameters,
    bodySchema: undefined,
    status: 200,
    responseSchema: createListResponseSchema(createRecordSchema(definition.fields)),
    recordedKinds: [],
    supportsPreconditions: false,
    mode: 'read',
    async run(view, caller, input) {
      const {
        limit = MAX_RECORDS_PER_PAGE,
        offset = 0,
        after,
        ...given
      } = parseQueryParameters(parameters, input.query);
      const paging = { offset, limit, after };
      const page = await definition.handle(
        view,
        caller,
        given as ParsedParameters<P>,
        paging,
        input.ids as PathIds<Path>,
      );
      const pendingPage = await loadFirstSlice(page, paging, (record) => serializeRecord(definition.fields, record));
      return { body: undefined, pendingPage };
    },
  };
}

/** Defines a read of one record: `{ data }` (C8). */
export function defineGetRoute<Path extends string, F extends Fields>(
  definition: RouteHead<Path> & {
    fields: F;
    handle: (view: AccountView, caller: Caller, ids: PathIds<Path>) => Promise<StoredRecordOf<F>>;
  },
): Route {
  return {
    ...routeHeadOf(definition),
    method: 'GET',
    parameters: {},
    bodySchema: undefined,
    status: 200,
    responseSchema: createRecordResponseSchema(createRecordSchema(definition.fields)),
    recordedKinds: [],
    supportsPreconditions: true,
    mode: 'read',
    run: async (view, caller, input) => ({
      body: {
        data: serializeRecord(definition.fields, await definition.handle(view, caller, input.ids as PathIds<Path>)),
      },
    }),
  };
}

/** Defines a creation: 201, `{ data }` and `Location` (C8). */
export function defineCreateRoute<
  Path extends string,
  F extends Fields,
  K extends keyof F & string,
  T extends Fields = F,
>(
  definition: RouteHead<Path> & {
    fields: F;
    /** Input fields, if they differ from the output fields. */
    inputFields?: T;
    recordedKinds: readonly string[];
    /** Account lock, by default shared. */
    lockMode?: LockMode;
    /** The path of the created record: its collection, and the field with its id. */
    location: { collectionPath: string; idField: K };
    handle: (
      write: AccountWrite,
      caller: Caller,
      input: CreationInput<T>,
      ids: PathIds<Path>,
    ) => Promise<StoredRecordOf<F>>;
  },
): Route {
  const bodySpec = createCreationBodySpec(definition.inputFields ?? definition.fields) as BodySpec<CreationInput<T>>;
  return {
    ...routeHeadOf(definition),
    method: 'POST',
    parameters: {},
    bodySchema: bodySpec.schema,
    status: 201,
    responseSchema: createRecordResponseSchema(createRecordSchema(definition.fields)),
    recordedKinds: definition.recordedKinds,
    supportsPreconditions: false,
    mode: 'write',
    // A shared lock suffices: a creation only checks that its parent exists, and parents are deleted under an
    // exclusive lock.
    lockMode: definition.lockMode ?? 'shared',
    async run(write, caller, input) {
      const record = serializeRecord(
        definition.fields,
        await definition.handle(write, caller, bodySpec.parse(input.body), input.ids as PathIds<Path>),
      );
      return {
        body: { data: record },
        createdPath: `${definition.location.collectionPath}/${record[definition.location.idField]}`,
      };
    },
  };
}

/** Defines a change of the given fields: 200 and `{ data }` (C8). */
export function defineUpdateRoute<Path extends string, F extends Fields, T extends Fields = F>(
  definition: RouteHead<Path> & {
    fields: F;
    /** Input fields, if they differ from the output fields. */
    inputFields?: T;
    recordedKinds: readonly string[];
    handle: (
      write: AccountWrite,
      caller: Caller,
      input: ChangeInput<T>,
      ids: PathIds<Path>,
    ) => Promise<StoredRecordOf<F>>;
  },
): Route {
  const bodySpec = createChangeBodySpec(definition.inputFields ?? definition.fields) as BodySpec<ChangeInput<T>>;
  return {
    ...routeHeadOf(definition),
    method: 'PUT',
    parameters: {},
    bodySchema: bodySpec.schema,
    status: 200,
    responseSchema: createRecordResponseSchema(createRecordSchema(definition.fields)),
    recordedKinds: definition.recordedKinds,
    supportsPreconditions: true,
    mode: 'write',
    lockMode: 'exclusive',
    async run(write, caller, input) {
      return {
        body: {
          data: serializeRecord(
            definition.fields,
            await definition.handle(write, caller, bodySpec.parse(input.body), input.ids as PathIds<Path>),
          ),
        },
      };
    },
  };
}

/** Defines a deletion: 200 and `[]` (C8). */
export function defineDeleteRoute<Path extends string>(
  definition: RouteHead<Path> & {
    recordedKinds: readonly string[];
    handle: (write: AccountWrite, caller: Caller, ids: PathIds<Path>) => Promise<void>;
  },
): Route {
  return {
    ...routeHeadOf(definition),
    method: 'DELETE',
    parameters: {},
    bodySchema: undefined,
    status: 200,
    responseSchema: { type: 'array', maxItems: 0, items: {} },
    recordedKinds: definition.recordedKinds,
    // A sub-resource is part of its record's representation and has no ETag.
    supportsPreconditions: definition.path.endsWith('}'),
    mode: 'write',
    lockMode: 'exclusive',
    async run(write, caller, input) {
      await definition.handle(write, caller, input.ids as PathIds<Path>);
      return { body: [] };
    },
  };
}

/** Defines an action: a POST without a body, which returns a record. */
export function defineActionRoute<Path extends string, F extends Fields>(
  definition: RouteHead<Path> & {
    status: 200 | 202;
    fields: F;
    handle: (write: AccountWrite, caller: Caller, ids: PathIds<Path>) => Promise<StoredRecordOf<F>>;
  },
): Route {
  return {
    ...routeHeadOf(definition),
    method: 'POST',
    parameters: {},
    bodySchema: undefined,
    status: definition.status,
    responseSchema: createRecordResponseSchema(createRecordSchema(definition.fields)),
    recordedKinds: [],
    supportsPreconditions: false,
    mode: 'write',
    lockMode: 'exclusive',
    run: async (write, caller, input) => ({
      body: {
        data: serializeRecord(definition.fields, await definition.handle(write, caller, input.ids as PathIds<Path>)),
      },
    }),
  };
}

function routeHeadOf(definition: RouteHead<string>) {
  return {
    path: definition.path,
    description: definition.description,
    permission: definition.permission,
    problems: definition.problems ?? [],
  };
}

/** Returns the names of the ids in a path, in order. */
export function idNamesOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** Exported for routes that are defined without the functions above. */
export type { BodySpec };
