/** One piece of a body, or its end. */
type Piece = { readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined };

/** The text of a body that comes in pieces; undefined when it has more bytes than that, or breaks off. */
export async function textOf(next: () => Promise<Piece>, mostBytes: number): Promise<string | undefined> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  for (let bytes = 0; ; ) {
    const piece = await next().catch(() => undefined);
    if (piece === undefined) return undefined;
    if (piece.done || piece.value === undefined) return text + decoder.decode();
    bytes += piece.value.byteLength;
    if (bytes > mostBytes) return undefined;
    text += decoder.decode(piece.value, { stream: true });
  }
}

/**
 * The text of a body that a framework has read already: as it was when it was kept as text or bytes, else written again.
 * A notification holds one address, so that comes out as it was sent.
 */
export function textRead(body: unknown, mostBytes: number): string | undefined {
  const text = written(body);
  return new TextEncoder().encode(text).byteLength > mostBytes ? undefined : text;
}

function written(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  return JSON.stringify(body) ?? '';
}
