import { textOf } from './body.ts';
import type { Answer, Posted } from './handle-notification.ts';

/** A request handler for `fetch`-style servers: Deno, Bun, Workers, Hono. */
export type WebHandler = (request: Request) => Promise<Response>;

export function webHandler(answer: Answer): WebHandler {
  return async (request) => {
    const body = bodyOf(request);
    const posted: Posted = {
      method: request.method,
      header: (name) => request.headers.get(name) ?? undefined,
      text: body.text,
    };
    const { status, headers, text } = await answer(posted);
    body.end();
    return new Response(text, { status, headers });
  };
}

function bodyOf(request: Request) {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return {
    async text(maxBytes: number): Promise<string | undefined> {
      if (request.bodyUsed) throw new TypeError('The body was read before the receiver got the request.');
      const reading = request.body?.getReader();
      if (reading === undefined) return '';
      reader = reading;
      return textOf(() => reading.read(), maxBytes);
    },
    /** Cancels the rest of the body. */
    end(): void {
      reader?.cancel().catch(() => undefined);
    },
  };
}
