import { readBodyText } from './body.ts';
import type { NotificationHandler, NotificationRequest } from './handle-notification.ts';

/** A request handler for `fetch`-style servers: Deno, Bun, Workers, Hono. */
export type WebHandler = (request: Request) => Promise<Response>;

export function createWebHandler(answer: NotificationHandler): WebHandler {
  return async (request) => {
    const body = createBodyReader(request);
    const posted: NotificationRequest = {
      method: request.method,
      header: (name) => request.headers.get(name) ?? undefined,
      text: body.text,
    };
    const { status, headers, text } = await answer(posted);
    body.cancel();
    return new Response(text, { status, headers });
  };
}

function createBodyReader(request: Request) {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return {
    async text(maxBytes: number): Promise<string | undefined> {
      if (request.bodyUsed) throw new TypeError('The body was read before the receiver got the request.');
      const reading = request.body?.getReader();
      if (reading === undefined) return '';
      reader = reading;
      return readBodyText(() => reading.read(), maxBytes);
    },
    /** Cancels the rest of the body. */
    cancel(): void {
      reader?.cancel().catch(() => undefined);
    },
  };
}
