/** An entity tag of a header list: the quoted opaque tag, and whether it has the prefix `W/`. */
export type EntityTag = { readonly opaque: string; readonly isWeak: boolean };

const OPAQUE_TAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Parses a list of entity tags (RFC 9110, 5.6.1 and 8.8.3); undefined if it is malformed or empty. It scans instead of
 * using a regular expression, so that the time is linear in the length of untrusted input.
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
