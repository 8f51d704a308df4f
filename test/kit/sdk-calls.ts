import { CarillonConsole } from '../../packages/sdk/src/console.ts';
import { shapeOf } from './openapi.ts';

/** The request that an SDK method sends. */
export type SdkCall = {
  /** For example `events.create`. */
  readonly method: string;
  /** For example `POST /events`; ids are `{}`. */
  readonly asks: string;
  /** The index of the argument that becomes the body, and of the one that becomes the query. */
  readonly body: number | undefined;
  readonly query: number | undefined;
  readonly headers: Headers;
  readonly signal: AbortSignal | null | undefined;
};

/** Arguments of methods that take more or less than one id, by method name or by resource and method. */
const given: Readonly<Record<string, readonly unknown[]>> = {
  list: [{}],
  each: [{}],
  follow: [{}],
  create: [{}],
  import: [{}],
  update: ['1', {}],
  set: [{}],
  createSecret: ['1', {}],
  'tasks.create': ['1', {}],
  'subtasks.create': ['1', {}],
  'timeEntries.create': ['1', {}],
  'comments.create': ['1', {}],
  'user.get': [],
  'company.get': [],
  overview: [],
};

function argumentsOf(method: string): readonly unknown[] {
  return given[method] ?? given[method.split('.').at(-1) ?? ''] ?? ['1'];
}

/** The options that every method is called with, in addition to the signal. */
export const OPTIONS = { ifMatch: '"tag"', idempotencyKey: 'word' };

type Method = (...given: unknown[]) => unknown;

/** Calls every method of every resource of the SDK, including the console's, and returns the requests. */
export async function sdkCalls(signal?: AbortSignal): Promise<SdkCall[]> {
  const calls: SdkCall[] = [];
  for (const [resourceType, own] of Object.entries(new CarillonConsole({ baseUrl: 'http://127.0.0.1' }))) {
    const names = typeof own === 'function' ? [''] : Object.keys(own);
    for (const name of names) calls.push(await callOf(resourceType, name, signal));
  }
  return calls;
}

async function callOf(resourceType: string, name: string, signal: AbortSignal | undefined): Promise<SdkCall> {
  const method = name === '' ? resourceType : `${resourceType}.${name}`;
  const given = argumentsOf(method);
  const requests: SdkCall[] = [];
  const client = new CarillonConsole({
    baseUrl: 'http://127.0.0.1',
    async fetch(address, { method: verb, body, headers, signal }) {
      const { pathname } = new URL(address);
      const path = pathname.replace('/console/api', '').replace(/\/1(?=\/|$)/g, '/{}');
      const input = given.findIndex((one) => typeof one === 'object');
      requests.push({
        method,
        asks: `${verb} ${path}`,
        body: input >= 0 && body === JSON.stringify(given[input]) ? input : undefined,
        query: verb === 'GET' && input >= 0 ? input : undefined,
        headers: new Headers(headers),
        signal,
      });
      return Response.json({ id: '1', data: [], paging: { offset: 0, limit: 1000, total_records: 0 }, next: '' });
    },
  });
  const own: unknown = Reflect.get(client, resourceType);
  const call = (name === '' ? own : Reflect.get(Object(own), name)) as Method;
  const result = call(...given, { ...OPTIONS, signal });
  // The same response serves all methods; errors about its shape do not matter here.
  await Promise.resolve(isGenerator(result) ? result.next() : result).catch(() => undefined);
  const [one] = requests;
  if (one === undefined) throw new Error(`${method} sent no request: add its arguments above`);
  return one;
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** The method and path of a route, in the form of `SdkCall.asks`. */
export const asksOf = ({ method, path }: { method: string; path: string }) => `${method} ${shapeOf(path)}`;
