/** A server-sent event; missing fields are undefined. A comment is an event without fields. */
export type Message = {
  readonly id: string | undefined;
  readonly data: string | undefined;
  readonly retryMs: number | undefined;
};

/** Parses server-sent events from a stream of bytes. An incomplete event at the end is dropped. */
export async function* messages(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, undefined> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      // The line feed after a trailing carriage return may be in the next chunk.
      text = (text + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, '\n');
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      yield* whole.map(messageOf);
    }
  } finally {
    // The consumer has left the loop: cancel the stream. That fails if the stream is already broken.
    await reader.cancel().catch(() => undefined);
  }
}

function messageOf(text: string): Message {
  const fields = text.split('\n').map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
  const valuesOf = (wanted: string) => fields.filter(([, name]) => name === wanted).map(([, , value = '']) => value);
  const data = valuesOf('data');
  const retry = valuesOf('retry').at(-1);
  return {
    id: valuesOf('id').at(-1),
    data: data.length === 0 ? undefined : data.join('\n'),
    retryMs: retry !== undefined && /^\d+$/.test(retry) ? Number(retry) : undefined,
  };
}
