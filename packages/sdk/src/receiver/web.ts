import { readBodyText } from './body.ts';
import type { NotificationHandler, NotificationRequest } from './handle-notification.ts';

/** A request handler for `fetch`-style servers: Deno, Bun, Workers, Hono. */
export type WebHandler = (request: Request) => Promise<Response>;

export function createWebHandler(handleNotification: NotificationHandler): WebHandler {
  return async (request) => {
    const bodyReader = createBodyReader(request);
    const notificationRequest: NotificationRequest = {
      method: request.method,
      getHeader: (name) => request.headers.get(name) ?? undefined,
      readText: bodyReader.readText,
    };
    const { status, headers, text } = await handleNotification(notificationRequest);
    bodyReader.cancel();
    return new Response(text, { status, headers });
  };
}

function createBodyReader(request: Request) {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return {
    async readText(maxBytes: number): Promise<string | undefined> {
      if (request.bodyUsed) throw new TypeError('The body was read before the receiver got the request.');
      const newReader = request.body?.getReader();
      if (newReader === undefined) return '';
      reader = newReader;
      return readBodyText(() => newReader.read(), maxBytes);
    },
    /** Cancels the rest of the body. */
    cancel(): void {
      reader?.cancel().catch(() => undefined);
    },
  };
}
