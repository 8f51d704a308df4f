import type { Caller, Permission } from '../../permissions.ts';
import type { ProblemCode } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { LockMode } from '../../store/store.ts';
import {
  type BodySpec,
  type ChangeInput,
  type CreationInput,
  createChangeBodySpec,
  createCreationBodySpec,
  createRecordSchema,
  type Fields,
  type StoredRecordOf,
  serializeRecord,
} from '../fields/field.ts';
import { loadFirstSlice } from './list-response.ts';
import {
  createListResponseSchema,
  createRecordResponseSchema,
  MAX_RECORDS_PER_PAGE,
  type Page,
  type PageRequest,
  pagingParameters,
} from './pagination.ts';
import { type ParsedParameters, parseQueryParameters, type QueryParameters } from './query-parameters.ts';

import type { PathIds, Route, RouteInput, RouteResult } from './route.ts';

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
export function defineCreateRoute<Path extends string, F extends Fields, T extends Fields = F>(
  definition: RouteHead<Path> & {
    fields: F;
    /** Input fields, if they differ from the output fields. */
    inputFields?: T;
    recordedKinds: readonly string[];
    /** Account lock, by default shared. */
    lockMode?: LockMode;
    /** The path of the created record: its collection, and the field with its id. */
    location: { collectionPath: string; idField: keyof F & string };
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
    /** Checks the input before the transaction. */
    prepare?: (caller: Caller, input: ChangeInput<T>) => Promise<void>;
    handle: (
      write: AccountWrite,
      caller: Caller,
      input: ChangeInput<T>,
      ids: PathIds<Path>,
    ) => Promise<StoredRecordOf<F>>;
  },
): Route {
  const { prepare } = definition;
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
    ...(prepare && { prepare: (caller: Caller, input: RouteInput) => prepare(caller, bodySpec.parse(input.body)) }),
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

/** Returns the properties that every route has from its definition. */
export function routeHeadOf(definition: RouteHead<string>) {
  return {
    path: definition.path,
    description: definition.description,
    permission: definition.permission,
    problems: definition.problems ?? [],
  };
}
