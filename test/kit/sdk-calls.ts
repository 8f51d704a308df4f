import { CarillonConsole } from '../../packages/sdk/src/console.ts';
import { shapeOf } from './openapi.ts';

/** What a method of the SDK asks the service for. */
export type SdkCall = {
  /** `events.create`. */
  readonly method: string;
  /** `POST /events`; ids are `{}`. */
  readonly asks: string;
  /** Which argument is sent as the body, and which as the query. */
  readonly body: number | undefined;
  readonly query: number | undefined;
  readonly headers: Headers;
  readonly signal: AbortSignal | null | undefined;
};

/** How the methods are called that take something else than an id, by their name; where need be with their noun. */
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

/** The tag, the word and the signal that every method is given with its options. */
export const OPTIONS = { ifMatch: '"tag"', idempotencyKey: 'word' };

type Method = (...given: unknown[]) => unknown;

/** Calls every method of the nouns of the SDK, those for the console among them, and says what each asked for. */
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
  const asked: SdkCall[] = [];
  const client = new CarillonConsole({
    baseUrl: 'http://127.0.0.1',
    async fetch(address, { method: verb, body, headers, signal }) {
      const { pathname } = new URL(address);
      const path = pathname.replace('/console/api', '').replace(/\/1(?=\/|$)/g, '/{}');
      const input = given.findIndex((one) => typeof one === 'object');
      asked.push({
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
  const answer = call(...given, { ...OPTIONS, signal });
  // What the answer is like is another matter: a list stands for everything here.
  await Promise.resolve(isGenerator(answer) ? answer.next() : answer).catch(() => undefined);
  const [one] = asked;
  if (one === undefined) throw new Error(`${method} asked for nothing: say how it is called`);
  return one;
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** A row as a method asks for it. */
export const asksOf = ({ method, path }: { method: string; path: string }) => `${method} ${shapeOf(path)}`;
