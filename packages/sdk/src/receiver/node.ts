import { getParsedBodyText, readBodyText } from './body.ts';
import type { NotificationHandler, NotificationRequest } from './handle-notification.ts';

type NodeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The subset of Node's `IncomingMessage` or Express's `Request` that is used. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  readonly method?: string | undefined;
  readonly headers: NodeHeaders;
  /** The body, if a middleware has already parsed it. */
  readonly body?: unknown;
};

/** The subset of Node's `ServerResponse` or Express's `Response` that is used. */
export type NodeResponse = {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
};

/** A request handler for `node:http` and Express. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => Promise<void>;

export function createNodeHandler(handleNotification: NotificationHandler): NodeHandler {
  return async (request, response) => {
    const { status, headers, text } = await handleNotification(notificationRequestOf(request));
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // Close the connection after a rejection, because the rest of the body is not read.
    if (status !== 200) response.setHeader('connection', 'close');
    response.end(text);
  };
}

function notificationRequestOf(request: NodeRequest): NotificationRequest {
  return {
    method: request.method ?? '',
    getHeader: createHeaderReader(request.headers),
    async readText(maxBytes) {
      if (request.body !== undefined) return getParsedBodyText(request.body, maxBytes);
      // Do not use `for await`: a loop that ends early closes the iterator, which destroys the connection before the
      // response is sent.
      const chunkIterator = request[Symbol.asyncIterator]();
      return readBodyText(() => chunkIterator.next(), maxBytes);
    },
  };
}

/** The subset of Fastify's request that is used; Fastify has parsed the body. */
export type FastifyRequest = { readonly method: string; readonly headers: NodeHeaders; readonly body: unknown };

/** The subset of Fastify's reply that is used. */
export type FastifyReply = {
  code(status: number): unknown;
  headers(values: Readonly<Record<string, string>>): unknown;
};

/** A route handler for Fastify. */
export type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<string>;

export function createFastifyHandler(handleNotification: NotificationHandler): FastifyHandler {
  return async ({ method, headers, body }, reply) => {
    const readText = async (maxBytes: number) => getParsedBodyText(body, maxBytes);
    const response = await handleNotification({ method, getHeader: createHeaderReader(headers), readText });
    reply.code(response.status);
    reply.headers(response.headers);
    return response.text;
  };
}

/** Returns a function that reads a header. A repeated header is ambiguous, and treated as missing. */
function createHeaderReader(headers: NodeHeaders): (name: string) => string | undefined {
  return (name) => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
}
