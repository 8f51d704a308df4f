import type { Json } from '../../kit/service/service.ts';
import type { Operation } from './document.ts';
import type { RequestDraft } from './requests.ts';

/**
 * Characters that not every database can store, as JSON escapes: one database rejects them, another one changes or
 * stores them.
 */
const UNSTORABLE = ['\\u0000', '\\ud800', '\\udfff', '\\udc00\\ud800'] as const;

/** Unstorable characters in a URL: NUL, and the UTF-8 bytes of a lone surrogate. */
const URL_ENCODED = ['%00', '%ED%A0%80', '%ED%BF%BF'] as const;

const TEXT_HEADERS = [
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'accept',
  'key',
  'domain',
] as const;

/**
 * Returns two JSON strings, with an unstorable character after and before the value. A value that is not a string
 * becomes one.
 */
function withUnstorable(json: string, sign: string): readonly string[] {
  const text = json.startsWith('"') ? json.slice(1, -1) : json.replaceAll('"', '');
  return [`"${text}${sign}"`, `"${sign}${text}"`];
}

/** Returns forged cursors that contain unstorable characters. A cursor is JSON in base64, so a client can forge it. */
function forgedCursors(cursor: string): readonly string[] {
  const place = parseJson(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(place)) return [];
  return place.flatMap((_, at) =>
    UNSTORABLE.flatMap((sign) => withUnstorable(JSON.stringify(place[at]), sign)).map((written) => {
      const parts = place.map((value, index) => (index === at ? written : JSON.stringify(value)));
      return Buffer.from(`[${parts.join()}]`).toString('base64url');
    }),
  );
}

/** Builds a new valid request. */
type DraftFactory = () => RequestDraft;

/**
 * Returns requests of an operation with an unstorable character in each place that takes a text: fields,
 * parameters, ids, headers.
 *
 * @param cursors cursors of this list, with the rest of the query that they belong to
 */
export function draftsWithUnstorableText(
  operation: Operation,
  createDraft: DraftFactory,
  sampleOf: (name: string, schema: Json) => unknown,
  cursors: readonly { readonly cursor: string; readonly query: RequestDraft['query'] }[],
): readonly RequestDraft[] {
  const changedDraft = (change: (draft: RequestDraft) => void): RequestDraft => {
    const draft = createDraft();
    change(draft);
    draft.corruptions.push('a text that no database keeps');
    return draft;
  };
  const properties: Readonly<Record<string, Json>> = operation.body?.properties ?? {};
  const inBody = Object.entries(properties).flatMap(([name, schema]) => {
    const json = JSON.stringify(sampleOf(name, schema) ?? 'x');
    return UNSTORABLE.flatMap((sign) => withUnstorable(json, sign)).map((written) =>
      changedDraft((draft) => {
        draft.fields = [...(draft.fields ?? []).filter(([one]) => one !== name), [name, written]];
      }),
    );
  });
  const asQuery = (query: RequestDraft['query']) =>
    changedDraft((draft) => {
      draft.query = query;
    });
  const inQuery = operation.query.flatMap(({ name, schema }) => {
    const value = encodeURIComponent(String(sampleOf(name, schema) ?? '1'));
    return URL_ENCODED.flatMap((sign) => [value + sign, sign + value]).map((written) => asQuery([[name, written]]));
  });
  const inCursors = cursors.flatMap(({ cursor, query }) =>
    forgedCursors(cursor).map((forged) => asQuery([...query, ['after', forged]])),
  );
  const inIds = operation.ids.flatMap((_, at) =>
    URL_ENCODED.map((sign) =>
      changedDraft((draft) => {
        draft.ids = draft.ids.with(at, `${draft.ids[at]}${sign}`);
      }),
    ),
  );
  const inHeaders = TEXT_HEADERS.flatMap((name) =>
    ['%00', '\xed\xa0\x80', '\xc0\x80'].map((sign) =>
      changedDraft((draft) => {
        draft.headers = [...draft.headers.filter(([one]) => one !== name), [name, `x${sign}`]];
        if (name === 'key' || name === 'domain') draft.corruptions.push('a stranger');
      }),
    ),
  );
  return [...inBody, ...inQuery, ...inCursors, ...inIds, ...inHeaders];
}

/** Returns the first known field or parameter that contains an unstorable character, or undefined if there is none. */
export function findUnstorable(operation: Operation, query: readonly [string, string][], body: string | undefined) {
  const inQuery = operation.query.find(({ name }) =>
    query.some(([one, written]) => one === name && isUnstorable(decodeQueryValue(written))),
  );
  if (inQuery !== undefined) return inQuery.name;
  const sent = operation.body === undefined || body === undefined ? undefined : parseJson(body);
  const properties: object = operation.body?.properties ?? {};
  return Object.entries(Object(sent)).find(
    ([name, value]) => Object.hasOwn(properties, name) && isUnstorable(value),
  )?.[0];
}

/** Whether a value contains an unstorable character, also inside a cursor. */
function isUnstorable(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isUnstorable);
  if (typeof value !== 'string') return false;
  if (value.includes('\0') || !value.isWellFormed()) return true;
  const inside = /^[\w-]{8,}$/.test(value) ? parseJson(Buffer.from(value, 'base64url').toString()) : undefined;
  return Array.isArray(inside) && inside.some((one) => typeof one === 'string' && isUnstorable(one));
}

/** Decodes a query value. A text that is not valid UTF-8 counts as unstorable. */
function decodeQueryValue(written: string): string {
  try {
    return decodeURIComponent(written.replaceAll('+', ' '));
  } catch {
    return '\0';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
