import { hidden, looksUnused, type ResponseCheck } from './checks.ts';
import { idKeyOf, type Tenant } from './fixture.ts';
import { bodyProperties, type IdPlace, type Operation, placesOf, type RequestParts } from './operations.ts';

/** Two versions of a request: with a value of another tenant, and with a value that was never issued. */
export type RequestPair = {
  readonly description: string;
  readonly check: ResponseCheck;
  readonly foreign: RequestParts;
  readonly unknown: RequestParts;
};

/** A value that was never issued as an id or as a cursor. */
export const NEVER_ISSUED = '9007199254740991';
const UNKNOWN_ETAG = `"${'A'.repeat(22)}"`;

/** Returns request pairs with ids of the other tenant, for every place in an operation that accepts an id. */
export function createIdPairs(operation: Operation, ours: Tenant, foreign: Tenant): RequestPair[] {
  return placesOf(operation).flatMap((place) =>
    idsFor(operation, place, foreign).map((id) => {
      const request = ours.requestFor(operation.row);
      const unknown = place.put(request, NEVER_ISSUED);
      return { description: place.description, check: hidden, foreign: place.put(request, id), unknown };
    }),
  );
}

export function idsFor({ row }: Pick<Operation, 'row'>, place: IdPlace, tenant: Tenant): readonly string[] {
  const ids = tenant.ids[idKeyOf(place.name)];
  if (ids === undefined) throw new Error(`${row.method} ${row.path}: nobody knows a ${place.name} to put there`);
  return ids;
}

/**
 * Returns request pairs with preconditions (X5): on a record of the other tenant, and on an own record with the
 * ETag of that record.
 */
export function createConditionPairs({ row, method }: Operation, ours: Tenant, foreign: Tenant): RequestPair[] {
  const tag = foreign.etags.get(row.path);
  if (!row.supportsPreconditions || tag === undefined) return [];
  const withHeader = (request: RequestParts, header: string, value: string) => ({
    ...request,
    headers: { [header]: value },
  });
  const own = ours.requestFor(row);
  const header = row.method === 'GET' ? 'if-none-match' : 'if-match';
  const onOurs: RequestPair = {
    description: `${header} with their tag`,
    check: hidden,
    foreign: withHeader(own, header, tag),
    unknown: withHeader(own, header, UNKNOWN_ETAG),
  };
  const onTheirs = placesOf({ row })
    .filter(({ where }) => where === 'path')
    .flatMap((place) =>
      ['if-match', 'if-none-match'].flatMap((name) =>
        [tag, '*'].map((value): RequestPair => {
          const [id = ''] = idsFor({ row }, place, foreign);
          return {
            description: `${name} ${value} on their record`,
            check: hidden,
            foreign: withHeader(place.put(own, id), name, value),
            unknown: withHeader(place.put(own, NEVER_ISSUED), name, value),
          };
        }),
      ),
    );
  return method === 'HEAD' ? [onOurs] : [onOurs, ...onTheirs];
}

/**
 * Checks that a response reveals only that a target is in use, but not where or by whom. The specification allows
 * this (C12).
 */
const revealsOnlyTaken: ResponseCheck = ({ status, json }) =>
  json?.code === 'target_taken' || json?.data?.verdict === 'taken'
    ? undefined
    : `got ${status} ${JSON.stringify(json)}, not that the target is taken`;

/** Functions that replace a value with a value of the other tenant that does not contain the mark of that tenant. */
const foreignValues: Readonly<Record<string, (written: string, foreign: Tenant, operation: Operation) => string>> = {
  // Each operation needs its own address, because the first operation with an address takes it.
  email: (_written, { emails }, { routeGroup, method }) =>
    (emails[(routeGroup === '/v2' ? 0 : 2) + (method === 'POST' ? 0 : 1)] ?? '').toUpperCase(),
  ics: (written, foreign, { routeGroup }) => {
    const uids = requestedValue(foreign, 'ics')?.match(/UID:.*/g) ?? [];
    return written.replace(/UID:.*/, uids[routeGroup === '/v2' ? 0 : 1] ?? '');
  },
  target_url: (_written, foreign) => requestedValue(foreign, 'target_url') ?? '',
};

function requestedValue({ sentRequests: all }: Tenant, name: string): string | undefined {
  const bodies = [...all.values()].map(({ request }) => request.body ?? {});
  const found = bodies.map((body) => body[name] ?? body[`${name}s`]).find((value) => typeof value === 'string');
  return found === undefined ? undefined : String(found);
}

/**
 * Returns request pairs with texts of the other tenant that the service looks up: filters, and values that must be
 * unique.
 */
export function createTextPairs(operation: Operation, ours: Tenant, foreign: Tenant): RequestPair[] {
  const { row, method } = operation;
  const filterPairs = Object.entries(row.parameters)
    .filter(([, { schema }]) => schema.type === 'string' && schema.pattern === undefined && schema.enum === undefined)
    // `after` is not looked up: it is a position among the records that the caller may see.
    .filter(([name]) => name !== 'after')
    .map(([name]): RequestPair => {
      const word = requestedValue(foreign, name);
      if (word === undefined) throw new Error(`${row.method} ${row.path}: nobody knows a ${name} to search for`);
      const request = ours.requestFor(row);
      return {
        description: `their ${name} in the query`,
        check: name === 'target_url' ? revealsOnlyTaken : hidden,
        foreign: { ...request, query: { [name]: word } },
        unknown: { ...request, query: { [name]: 'never-written' } },
      };
    });
  if (method === 'HEAD') return filterPairs.filter(({ check }) => check === hidden);
  // Only email addresses of users must be unique. Clients may have any address.
  const names = bodyProperties(row).filter(
    ([name]) => name in foreignValues && (name !== 'email' || row.path.startsWith('/users')),
  );
  const uniqueValuePairs = names.map(([name]): RequestPair => {
    const request = ours.requestFor(row);
    const word = foreignValues[name]?.(String(request.body?.[name]), foreign, operation);
    return {
      description: `their ${name} in the body`,
      check: name === 'target_url' ? revealsOnlyTaken : looksUnused,
      foreign: { ...request, body: { ...request.body, [name]: word } },
      unknown: ours.requestFor(row),
    };
  });
  return [...filterPairs, ...uniqueValuePairs];
}

/**
 * Returns request pairs with an Idempotency-Key of the other tenant: on an own request, and on the request for
 * which the other tenant used it. An Idempotency-Key belongs to one API key (X4).
 */
export function createIdempotencyPairs({ row }: Operation, ours: Tenant, foreign: Tenant): RequestPair[] {
  const made = foreign.sentRequests.get(row);
  if (made === undefined) throw new Error(`POST ${row.path}: nobody has asked it with an Idempotency-Key`);
  const under = (request: RequestParts, word: string) => ({ ...request, headers: { 'idempotency-key': word } });
  const never = `never-used ${row.path}`.replaceAll(/[^\w-]/g, '.');
  const own: RequestPair = {
    description: 'their Idempotency-Key',
    check: looksUnused,
    foreign: under(ours.requestFor(row), made.word),
    unknown: under(ours.requestFor(row), `${never}.own`),
  };
  // A request without ids is the same for both tenants.
  if (placesOf({ row }).length === 0) return [own];
  const foreignRequestPair: RequestPair = {
    description: 'their very request under their Idempotency-Key',
    check: ours === foreign ? looksUnused : hidden,
    foreign: under(made.request, made.word),
    unknown: under(made.request, `${never}.theirs`),
  };
  // The request of the other tenant is sent first. After the second pair, this tenant has used the Idempotency-Key as
  // well.
  return ours === foreign ? [foreignRequestPair] : [foreignRequestPair, own];
}
