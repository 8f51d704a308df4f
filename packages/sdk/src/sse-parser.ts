/** One server-sent event as it arrived; what it did not say is undefined. A comment alone is an empty one. */
export type Message = {
  readonly id: string | undefined;
  readonly data: string | undefined;
  readonly retryMs: number | undefined;
};

/** Reads server-sent events out of bytes, each as soon as its last line is there; half of one at the end is none. */
export async function* messages(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, undefined> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      // A line may end in a carriage return whose line feed is still on its way.
      text = (text + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, '\n');
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      yield* whole.map(messageOf);
    }
  } finally {
    // Whoever stops reading wants no more of it; what is broken already cannot be given up.
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
