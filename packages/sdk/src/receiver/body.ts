/** A chunk of a body, or the end of the body. */
type BodyChunk = { readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined };

/** Reads a body as text. Returns undefined if the body is larger than `maxBytes` or cut off. */
export async function readBodyText(
  readNextChunk: () => Promise<BodyChunk>,
  maxBytes: number,
): Promise<string | undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  for (let byteCount = 0; ; ) {
    const chunk = await readNextChunk().catch(() => undefined);
    if (chunk === undefined) return undefined;
    if (chunk.done || chunk.value === undefined) return text + decoder.decode();
    byteCount += chunk.value.byteLength;
    if (byteCount > maxBytes) return undefined;
    text += decoder.decode(chunk.value, { stream: true });
  }
}

/**
 * Returns the text of a body that a framework has already parsed; undefined if the text is larger than `maxBytes`. Text
 * and bytes are used as they are. Any other value is serialized as JSON: since a notification has a single field, this
 * reproduces the signed text.
 */
export function getParsedBodyText(body: unknown, maxBytes: number): string | undefined {
  const text = serializeBody(body);
  return new TextEncoder().encode(text).byteLength > maxBytes ? undefined : text;
}

function serializeBody(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  return JSON.stringify(body) ?? '';
}
