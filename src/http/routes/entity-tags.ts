/** One entity tag of a header list: what stands in the quotes, with them, and whether `W/` stands before it. */
export type EntityTag = { readonly opaque: string; readonly isWeak: boolean };

const OPAQUE_TAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Parses a list of entity tags (RFC 9110, 5.6.1 and 8.8.3); undefined when it is malformed or has no tag. It scans
 * because the text comes from callers: the time grows with the length, whatever the text is.
 */
export function parseEntityTags(text: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let needsComma = false;
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === ' ' || char === '\t' || char === ',') {
      if (char === ',') needsComma = false;
      at += 1;
      continue;
    }
    const isWeak = text.startsWith('W/', at);
    const start = isWeak ? at + 2 : at;
    const end = text.indexOf('"', start + 1) + 1;
    const opaque = text.slice(start, end);
    if (needsComma || !OPAQUE_TAG.test(opaque)) return undefined;
    tags.push({ opaque, isWeak });
    needsComma = true;
    at = end;
  }
  return tags.length === 0 ? undefined : tags;
}
