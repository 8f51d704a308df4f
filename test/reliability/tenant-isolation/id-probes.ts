import { idName, type Tenant } from './fixture.ts';
import { type Operation, type Place, placesOf, properties, type Request } from './operations.ts';
import { hidden, type Judge, unheardOf } from './response-diff.ts';

/** The same request twice: with a value of another tenant, and with one that was never issued. */
export type Pair = {
  readonly says: string;
  readonly judge: Judge;
  readonly theirs: Request;
  readonly nobodys: Request;
};

/** An id and cursor that was never issued. */
export const NEVER_ISSUED = '9007199254740991';
const NEVER_TAGGED = `"${'A'.repeat(22)}"`;

/** Pairs with ids of the other tenant, for every place of an operation. */
export function idPairs(operation: Operation, ours: Tenant, theirs: Tenant): Pair[] {
  return placesOf(operation).flatMap((place) =>
    idsFor(operation, place, theirs).map((id) => {
      const request = ours.requestFor(operation.row);
      const nobodys = place.put(request, NEVER_ISSUED);
      return { says: place.says, judge: hidden, theirs: place.put(request, id), nobodys };
    }),
  );
}

export function idsFor({ row }: Pick<Operation, 'row'>, place: Place, tenant: Tenant): readonly string[] {
  const ids = tenant.ids[idName(place.name)];
  if (ids === undefined) throw new Error(`${row.method} ${row.path}: nobody knows a ${place.name} to put there`);
  return ids;
}

/** X5: preconditions on a record of the other tenant, and its ETag on an own record. */
export function conditionPairs({ row, method }: Operation, ours: Tenant, theirs: Tenant): Pair[] {
  const tag = theirs.tags.get(row.path);
  if (!row.conditional || tag === undefined) return [];
  const under = (request: Request, header: string, value: string) => ({ ...request, headers: { [header]: value } });
  const own = ours.requestFor(row);
  const header = row.method === 'GET' ? 'if-none-match' : 'if-match';
  const onOurs: Pair = {
    says: `${header} with their tag`,
    judge: hidden,
    theirs: under(own, header, tag),
    nobodys: under(own, header, NEVER_TAGGED),
  };
  const onTheirs = placesOf({ row })
    .filter(({ where }) => where === 'path')
    .flatMap((place) =>
      ['if-match', 'if-none-match'].flatMap((name) =>
        [tag, '*'].map((value): Pair => {
          const [id = ''] = idsFor({ row }, place, theirs);
          return {
            says: `${name} ${value} on their record`,
            judge: hidden,
            theirs: under(place.put(own, id), name, value),
            nobodys: under(place.put(own, NEVER_ISSUED), name, value),
          };
        }),
      ),
    );
  return method === 'HEAD' ? [onOurs] : [onOurs, ...onTheirs];
}

/** C12: the specification lets a response reveal that a target is in use, but not where or by whom. */
const isTaken: Judge = ({ status, json }) =>
  json?.code === 'target_taken' || json?.data?.verdict === 'taken'
    ? undefined
    : `got ${status} ${JSON.stringify(json)}, not that the target is taken`;

/** Changes a value so that it belongs to the other tenant, but does not contain its mark. */
const words: Readonly<Record<string, (written: string, theirs: Tenant, operation: Operation) => string>> = {
  // Each operation needs its own address, since the first one takes it.
  email: (_written, { emails }, { door, method }) =>
    (emails[(door === '/v2' ? 0 : 2) + (method === 'POST' ? 0 : 1)] ?? '').toUpperCase(),
  ics: (written, theirs, { door }) => {
    const uids = asked(theirs, 'ics')?.match(/UID:.*/g) ?? [];
    return written.replace(/UID:.*/, uids[door === '/v2' ? 0 : 1] ?? '');
  },
  target_url: (_written, theirs) => asked(theirs, 'target_url') ?? '',
};

function asked({ asked: all }: Tenant, name: string): string | undefined {
  const bodies = [...all.values()].map(({ request }) => request.body ?? {});
  const found = bodies.map((body) => body[name] ?? body[`${name}s`]).find((value) => typeof value === 'string');
  return found === undefined ? undefined : String(found);
}

/** Pairs with texts of the other tenant that the service looks up: filters, and values that must be unique. */
export function wordPairs(operation: Operation, ours: Tenant, theirs: Tenant): Pair[] {
  const { row, method } = operation;
  const searched = Object.entries(row.parameters)
    .filter(([, { schema }]) => schema.type === 'string' && schema.pattern === undefined && schema.enum === undefined)
    // `after` looks nothing up: it is a position among the records that the caller may see.
    .filter(([name]) => name !== 'after')
    .map(([name]): Pair => {
      const word = asked(theirs, name);
      if (word === undefined) throw new Error(`${row.method} ${row.path}: nobody knows a ${name} to search for`);
      const request = ours.requestFor(row);
      return {
        says: `their ${name} in the query`,
        judge: name === 'target_url' ? isTaken : hidden,
        theirs: { ...request, query: { [name]: word } },
        nobodys: { ...request, query: { [name]: 'never-written' } },
      };
    });
  if (method === 'HEAD') return searched.filter(({ judge }) => judge === hidden);
  // Only addresses of users must be unique; clients may have any.
  const names = properties(row).filter(
    ([name]) => name in words && (name !== 'email' || row.path.startsWith('/users')),
  );
  const once = names.map(([name]): Pair => {
    const request = ours.requestFor(row);
    const word = words[name]?.(String(request.body?.[name]), theirs, operation);
    return {
      says: `their ${name} in the body`,
      judge: name === 'target_url' ? isTaken : unheardOf,
      theirs: { ...request, body: { ...request.body, [name]: word } },
      nobodys: ours.requestFor(row),
    };
  });
  return [...searched, ...once];
}

/**
 * X4: an Idempotency-Key belongs to one API key. The other tenant's key is used with an own request, and with
 * the request it was used for.
 */
export function oncePairs({ row }: Operation, ours: Tenant, theirs: Tenant): Pair[] {
  const made = theirs.asked.get(row);
  if (made === undefined) throw new Error(`POST ${row.path}: nobody has asked it with an Idempotency-Key`);
  const under = (request: Request, word: string) => ({ ...request, headers: { 'idempotency-key': word } });
  const never = `never-used ${row.path}`.replaceAll(/[^\w-]/g, '.');
  const own: Pair = {
    says: 'their Idempotency-Key',
    judge: unheardOf,
    theirs: under(ours.requestFor(row), made.word),
    nobodys: under(ours.requestFor(row), `${never}.own`),
  };
  // A request without ids is the same for both tenants.
  if (placesOf({ row }).length === 0) return [own];
  const very: Pair = {
    says: 'their very request under their Idempotency-Key',
    judge: ours === theirs ? unheardOf : hidden,
    theirs: under(made.request, made.word),
    nobodys: under(made.request, `${never}.theirs`),
  };
  // The other tenant's request comes first: afterwards the Idempotency-Key is in use here, too.
  return ours === theirs ? [very] : [very, own];
}
