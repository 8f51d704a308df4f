import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd, type Cleanup } from './cleanup.ts';

/** What a scripted service answers: lists by noun, single records by noun; any of them may change while it is read. */
export type Script = {
  readonly lists: Record<string, unknown[]>;
  readonly singles: Record<string, unknown>;
  /** The largest page that it gives. */
  readonly most?: number;
  /** Nouns that it answers with this status. */
  readonly refuses?: Readonly<Record<string, number>>;
  /** What a list says of its length, where that is not how long it is. */
  totalOf?(resourceType: string, length: number): unknown;
  /** Hears each request before it is answered; true when it has answered it itself. */
  before?(url: URL, answer: ServerResponse, request: IncomingMessage): boolean | undefined;
};

export type ScriptedSource = {
  readonly base: string;
  readonly requests: readonly { readonly address: string; readonly headers: IncomingMessage['headers'] }[];
};

/** A service that speaks the interface in its own way, on a real socket. */
export async function scriptedSource(context: Cleanup, script: Script): Promise<ScriptedSource> {
  const requests: { address: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, answer) => {
    const url = new URL(request.url ?? '/', 'http://source.test');
    requests.push({ address: `${url.pathname}${url.search}`, headers: request.headers });
    if (script.before?.(url, answer, request) !== true) reply(script, url, answer);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}`, requests };
}

function reply(script: Script, url: URL, answer: ServerResponse): void {
  const [status, body] = replyOf(script, url);
  say(answer, status, body);
}

function replyOf(script: Script, url: URL): [status: number, body: unknown] {
  const [, , resourceType = '', id] = url.pathname.split('/');
  const list = script.lists[resourceType];
  const refused = script.refuses?.[resourceType];
  if (refused !== undefined) return [refused, { message: 'no' }];
  if (resourceType in script.singles) return [200, { data: script.singles[resourceType] }];
  if (list === undefined) return [404, { message: 'no such thing' }];
  if (id !== undefined) {
    const one = list.find((record) => Object.values(record as object).some((value) => String(value) === id));
    return one === undefined ? [404, {}] : [200, { data: one }];
  }
  const offset = Number(url.searchParams.get('offset') ?? 0);
  const limit = Math.min(Number(url.searchParams.get('limit') ?? 1_000), script.most ?? 1_000);
  const total_records = script.totalOf?.(resourceType, list.length) ?? list.length;
  return [200, { paging: { offset, limit, total_records }, data: list.slice(offset, offset + limit) }];
}

export function say(answer: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  answer.writeHead(status, { 'content-type': 'application/json', ...headers });
  answer.end(JSON.stringify(body));
}
