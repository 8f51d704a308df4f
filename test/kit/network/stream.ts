import { atEnd, type Cleanup } from '../cleanup.ts';
import { eventually } from '../eventually.ts';
import type { ApiUser, TestService } from '../service/service.ts';

/** A server-sent event, or a comment in the stream. */
export type StreamMessage = {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
  readonly comment?: string;
};

/** An open stream of server-sent events. */
export type EventStream = {
  readonly status: number;
  readonly headers: Headers;
  readonly messages: readonly StreamMessage[];
  /** The messages that have data. */
  readonly events: readonly StreamMessage[];
  /** Waits until at least `count` events have arrived. */
  waitForEvents(count: number): Promise<readonly StreamMessage[]>;
  /** Resolves at the end of the stream: true after a clean end, false after a broken connection. */
  readonly ended: Promise<boolean>;
  close(): void;
};

/** Opens a path as a stream of server-sent events. */
export async function openStream(
  context: Cleanup,
  { baseUrl }: TestService,
  user: ApiUser,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const abort = new AbortController();
  atEnd(context, () => abort.abort());
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { accept: 'text/event-stream', ...user.headers, ...headers },
    signal: abort.signal,
  });
  const messages: StreamMessage[] = [];
  const eventsIn = () => messages.filter(({ data }) => data !== undefined);
  return {
    status: response.status,
    headers: response.headers,
    messages,
    get events() {
      return eventsIn();
    },
    waitForEvents: (count) => eventually(eventsIn, (events) => events.length >= count),
    ended: readMessages(response, messages),
    close: () => abort.abort(),
  };
}

async function readMessages(response: Response, messages: StreamMessage[]): Promise<boolean> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const complete = text.split('\n\n');
      text = complete.pop() ?? '';
      messages.push(...complete.map(parseMessage));
    }
    return text === '';
  } catch {
    return false;
  }
}

function parseMessage(text: string): StreamMessage {
  const lines = text.split('\n').map((line) => {
    const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    return [name === '' ? 'comment' : name, value];
  });
  return Object.fromEntries(lines);
}
