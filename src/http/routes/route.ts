import type { Caller, Permission } from '../../permissions.ts';
import type { ProblemCode } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { LockMode } from '../../store/store.ts';
import type { StreamedField } from '../body/streamed-field.ts';
import type { TemporaryTextFile } from '../body/temporary-file.ts';
import type { JsonSchema } from '../fields/field.ts';
import type { PendingPage } from './list-response.ts';
import type { QueryParameters, RawQuery } from './query-parameters.ts';

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

/** The ids in a path, by name: `/events/{event_id}` gives `{ event_id: number }`. */
export type PathIds<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: number } & PathIds<Rest>
  : unknown;

/** Returns the names of the ids in a path, in order. */
export function idNamesOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** Codes of the problems that every authenticated route can return. */
const commonProblemCodes: readonly ProblemCode[] = [
  'unauthorized',
  'not_found',
  'malformed_request',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'overloaded',
  'storage_unavailable',
  'timed_out',
  'internal',
];

/** Returns the codes of the problems that a route can return. */
export function problemCodesOf(route: Route): readonly ProblemCode[] {
  const problemCodes: ProblemCode[] = [...commonProblemCodes, ...route.problems];
  if (route.permission !== undefined || route.mode === 'write' || route.mode === 'steps')
    problemCodes.push('not_permitted');
  const hasRequestHeaders = requestHeadersOf(route).length > 0;
  if (Object.keys(route.parameters).length > 0 || route.bodySchema !== undefined || hasRequestHeaders)
    problemCodes.push('invalid_input');
  if (route.method === 'POST') problemCodes.push('idempotency_in_progress', 'idempotency_mismatch');
  if (route.supportsPreconditions) problemCodes.push('precondition_failed');
  if (route.method !== 'GET') problemCodes.push('malformed_body', 'unsupported_media_type', 'body_too_large');
  return [...new Set(problemCodes)];
}

export type HeaderParameter = {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly required?: boolean;
};

export const ETAG_SCHEMA: JsonSchema = { type: 'string', examples: ['"Vd3zUqk0B1l9YwGm2s7pXA"'] };

const idempotencyKeyHeader: HeaderParameter = {
  name: 'Idempotency-Key',
  description:
    'A unique key for this call. A repeated call with the same key within 24 hours gets the response of the first one.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
};
const ifMatchHeader: HeaderParameter = {
  name: 'If-Match',
  description: 'The ETag that the record must have, or *; otherwise 412, and nothing is changed.',
  schema: ETAG_SCHEMA,
};
const ifNoneMatchHeader: HeaderParameter = {
  name: 'If-None-Match',
  description: 'An ETag that the client has: 304 for a read while the record still has it, 412 for a change.',
  schema: ETAG_SCHEMA,
};
const lastEventIdHeader: HeaderParameter = {
  name: 'Last-Event-ID',
  description: 'In a stream, the cursor to continue after; takes precedence over `after`.',
  schema: { type: 'string', pattern: '^\\d{1,16}$' },
};

/** Returns the request headers that a route reads, except those that all routes read. */
export function requestHeadersOf(route: Route): readonly HeaderParameter[] {
  if (route.mode === 'follow') return [lastEventIdHeader];
  if (route.method === 'POST') return [idempotencyKeyHeader];
  return route.supportsPreconditions ? [ifMatchHeader, ifNoneMatchHeader] : [];
}
