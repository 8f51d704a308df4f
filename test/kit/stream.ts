import type { Cleanup } from './cleanup.ts';
import { atEnd } from './cleanup.ts';
import { eventually } from './eventually.ts';
import type { Person, TestService } from './service.ts';

/** One server-sent event, or a comment, as it arrived. */
export type Message = {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
  readonly comment?: string;
};

/** A stream that is being read. */
export type Stream = {
  readonly status: number;
  readonly headers: Headers;
  readonly messages: readonly Message[];
  /** Those that are events: with data. */
  readonly events: readonly Message[];
  /** Resolves when there are so many events. */
  arrived(count: number): Promise<readonly Message[]>;
  /** Resolves when the service has ended it: true when it was ended cleanly, false when it broke off. */
  readonly ended: Promise<boolean>;
  close(): void;
};

/** Reads a path as a stream of server-sent events. */
export async function openStream(
  context: Cleanup,
  { baseUrl }: TestService,
  who: Person,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Stream> {
  const leaving = new AbortController();
  atEnd(context, () => leaving.abort());
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { accept: 'text/event-stream', ...who.headers, ...headers },
    signal: leaving.signal,
  });
  const messages: Message[] = [];
  const eventsIn = () => messages.filter(({ data }) => data !== undefined);
  return {
    status: response.status,
    headers: response.headers,
    messages,
    get events() {
      return eventsIn();
    },
    arrived: (count) => eventually(eventsIn, (events) => events.length >= count),
    ended: readAll(response, messages),
    close: () => leaving.abort(),
  };
}

async function readAll(response: Response, messages: Message[]): Promise<boolean> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      messages.push(...whole.map(messageOf));
    }
    return text === '';
  } catch {
    return false;
  }
}

function messageOf(text: string): Message {
  const lines = text.split('\n').map((line) => {
    const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    return [name === '' ? 'comment' : name, value];
  });
  return Object.fromEntries(lines);
}
