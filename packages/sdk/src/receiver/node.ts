import { textOf, textRead } from './body.ts';
import type { Answer, Posted } from './handle-notification.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What is needed of an `IncomingMessage` of Node or a `Request` of Express. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  readonly method?: string | undefined;
  readonly headers: Headers;
  /** What a parser in front has made of the body. */
  readonly body?: unknown;
};

/** What is needed of a `ServerResponse` of Node or a `Response` of Express. */
export type NodeResponse = {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
};

/** Answers as `node:http` and Express ask. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => Promise<void>;

export function nodeHandler(answer: Answer): NodeHandler {
  return async (request, response) => {
    const { status, headers, text } = await answer(postedBy(request));
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // What is still on its way is not read.
    if (status !== 200) response.setHeader('connection', 'close');
    response.end(text);
  };
}

function postedBy(request: NodeRequest): Posted {
  return {
    method: request.method ?? '',
    header: headerOf(request.headers),
    async text(mostBytes) {
      if (request.body !== undefined) return textRead(request.body, mostBytes);
      // Never returned: that would destroy the connection before it is answered.
      const pieces = request[Symbol.asyncIterator]();
      return textOf(() => pieces.next(), mostBytes);
    },
  };
}

/** What is needed of a request of Fastify, which has read the body. */
export type FastifyRequest = { readonly method: string; readonly headers: Headers; readonly body: unknown };

/** What is needed of a reply of Fastify. */
export type FastifyReply = {
  code(status: number): unknown;
  headers(values: Readonly<Record<string, string>>): unknown;
};

/** Answers as Fastify asks: the handler of a route. */
export type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<string>;

export function fastifyHandler(answer: Answer): FastifyHandler {
  return async ({ method, headers, body }, reply) => {
    const text = async (mostBytes: number) => textRead(body, mostBytes);
    const answered = await answer({ method, header: headerOf(headers), text });
    reply.code(answered.status);
    reply.headers(answered.headers);
    return answered.text;
  };
}

/** A header that was sent twice is none: nobody says which one holds. */
function headerOf(headers: Headers): (name: string) => string | undefined {
  return (name) => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
}
