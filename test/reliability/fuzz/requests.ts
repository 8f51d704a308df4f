import { gzipSync } from 'node:zlib';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { Operation } from './document.ts';
import { type KnownIds, validValue, WRONG_IDS, WRONG_JSON, WRONG_QUERY } from './values.ts';

/** A request under construction, in parts that can be corrupted one by one. */
export type RequestDraft = {
  readonly operation: Operation;
  method: string;
  /** Values of the path parameters. */
  ids: string[];
  /** Suffix appended to the path. */
  suffix: string;
  query: [name: string, written: string][];
  headers: [name: string, value: string][];
  /** Fields of the body with their JSON; undefined without a body. */
  fields: [name: string, json: string][] | undefined;
  /** The whole body, if it does not consist of fields. */
  raw: Buffer | undefined;
  /** Names of the corruptions applied, in order; empty for a valid request. */
  readonly corruptions: string[];
};

export type CallerHeaders = Readonly<Record<string, string>>;

/** A valid id that was never issued. */
const UNKNOWN_ID = '9007199254740990';

/** Returns valid values for all required fields, and for a random selection of the optional fields. */
function generateFields({ body }: Operation, known: KnownIds, random: SeededRandom): RequestDraft['fields'] {
  if (body === undefined) return undefined;
  const required: readonly string[] = body.required ?? [];
  const fields: [string, string][] = [];
  const density = random.integerBelow(4);
  for (const [name, schema] of Object.entries(body.properties ?? {})) {
    const isWanted = required.includes(name) || name.endsWith('_date') || random.integerBelow(4) < density;
    const value = isWanted ? validValue(name, schema, known, random) : undefined;
    if (value !== undefined) fields.push([name, JSON.stringify(value)]);
  }
  return fields;
}

/** Builds a request that is valid according to the document. */
export function createValidRequest(
  operation: Operation,
  caller: CallerHeaders,
  known: KnownIds,
  random: SeededRandom,
): RequestDraft {
  const query: [string, string][] = [];
  for (const { name, schema } of operation.query) {
    if (random.integerBelow(4) > 0) continue;
    const value = validValue(name, schema, known, random);
    if (value !== undefined) query.push([name, encodeURIComponent(String(value))]);
  }
  const fields = generateFields(operation, known, random);
  const ids = operation.ids.map((name) => known.randomId(name, random) ?? UNKNOWN_ID);
  return {
    operation,
    method: operation.method,
    ids,
    suffix: '',
    query,
    headers: [
      ['host', 'x'],
      ...Object.entries(caller),
      ...(fields === undefined ? [] : ([['content-type', 'application/json']] as [string, string][])),
    ],
    fields,
    raw: undefined,
    corruptions: ids.includes(UNKNOWN_ID) ? ["nobody's id"] : [],
  };
}

type Corruption = (draft: RequestDraft, random: SeededRandom, seen: { readonly tags: readonly string[] }) => void;

const setHeader = (draft: RequestDraft, name: string, value: string) => {
  draft.headers = [...draft.headers.filter(([one]) => one !== name), [name, value]];
};
const wholeBody = (draft: RequestDraft) => Buffer.from(bodyText(draft) ?? '{"a":1}');

const CONTENT_TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/json; charset="utf-8"',
  'application/x-www-form-urlencoded',
];
const UNUSUAL_CONTENT_TYPES = [
  'multipart/form-data',
  'application/problem+json',
  '',
  ';',
  'application/json;',
  '*/*',
  'a/b/c',
  'application/json; x=y',
];
const CONTENT_CODINGS = ['gzip', 'br', 'identity', 'deflate, gzip', 'x', 'GZIP'];
const ACCEPT_VALUES = [
  '*/*',
  'text/html',
  'application/xml;q=1',
  'text/event-stream',
  'application/problem+json',
  ';;',
  'q=0',
  '',
];
const UNUSUAL_HEADERS: readonly [string, string][] = [
  ['prefer', 'return=minimal, wait=30'],
  ['x-http-method-override', 'DELETE'],
  ['x-original-url', '/v2/keys'],
  ['x-forwarded-for', '127.0.0.1, \xff'],
  ['range', 'bytes=0-1'],
  ['cookie', 'carillon=x; __Host-carillon=x'],
  ['accept-encoding', 'gzip, br;q=9'],
  ['if-modified-since', 'x'],
  ['if-range', '"x"'],
  ['last-event-id', '\u00b2'],
  ['last-event-id', '9007199254740992'],
  ['origin', 'null'],
  ['access-control-request-method', 'PUT'],
  ['expect', '100-continue'],
  ['x', 'x'.repeat(14_000)],
  ['authorization', 'Bearer x'],
];
const IDEMPOTENCY_KEYS = ['w1', 'w2', 'w3', 'é', '', 'a b', 'x'.repeat(255), 'x'.repeat(256), '"quoted"', "';--"];
const ETAGS = ['*', '""', '"x"', 'W/"x"', 'x', '"a", "b"', '*, "x"', '"', 'W/*', ',', '"\xff"'];
const METHODS = ['PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'POST', 'DELETE', 'GET', 'PROPFIND', 'QUERY', 'RING'];
const SUFFIXES = [
  '/',
  '//',
  '/..',
  '/%2e%2e',
  '/x',
  '.json',
  '%00',
  '%20',
  ';a=b',
  '/../../v2/keys',
  '%2f',
  '\\',
  '?',
  '%',
];

/** Functions that corrupt a request, by the name of the corruption. */
const corruptionsByName: Readonly<Record<string, Corruption>> = {
  'a strange id': (draft, random) => {
    draft.ids = draft.ids.map((id) => (random.integerBelow(3) > 0 ? random.pick(WRONG_IDS) : id));
  },
  'a strange path': (draft, random) => {
    draft.suffix = random.pick(SUFFIXES);
  },
  'a strange query': (draft, random) => {
    const name = draft.operation.query.length === 0 ? 'x' : random.pick(draft.operation.query).name;
    draft.query.push([random.integerBelow(8) === 0 ? random.pick(WRONG_QUERY) : name, random.pick(WRONG_QUERY)]);
  },
  'a repeated query': (draft) => {
    draft.query.push(...draft.query, ['limit', '1'], ['limit', '2']);
  },
  'a wrong value': (draft, random) => {
    if (draft.fields === undefined) draft.fields = [];
    const names = Object.keys(draft.operation.body?.properties ?? { x: 1 });
    const name = random.pick(names);
    draft.fields = [...draft.fields.filter(([one]) => one !== name), [name, random.pick(WRONG_JSON)]];
  },
  'a field less': (draft, random) => {
    const left = random.integerBelow(8);
    draft.fields = draft.fields?.filter((_, index) => index !== left);
  },
  'a field more': (draft, random) => {
    const name = random.pick([
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      '',
      'x',
      'account_id',
      'id',
      '\\u0000',
    ]);
    draft.fields = [...(draft.fields ?? []), [name, random.pick(WRONG_JSON)]];
  },
  'a field twice': (draft, random) => {
    const [name, json] = draft.fields?.[0] ?? ['x', '1'];
    draft.fields = [...(draft.fields ?? []), [name, random.pick([json, random.pick(WRONG_JSON)])]];
  },
  'another body': (draft, random) => {
    draft.raw = Buffer.from(
      random.pick([...WRONG_JSON, '', ' ', '{', '{}}', '{}{}', '{"a":1,}', '{a:1}', 'a=1', '<a/>', '[{}]', '"{}"']),
    );
  },
  'half a body': (draft, random) => {
    const all = wholeBody(draft);
    draft.raw = all.subarray(0, random.integerBelow(all.length));
  },
  'bytes in its body': (draft, random) => {
    const all = wholeBody(draft);
    for (let count = 0; count < 3; count += 1) all[random.integerBelow(all.length)] = random.integerBelow(256);
    draft.raw = all;
  },
  'a byte order mark': (draft, random) => {
    const mark = random.pick([[0xef, 0xbb, 0xbf], [0xff, 0xfe], [0x1e], [0]]);
    draft.raw = Buffer.concat([Buffer.from(mark), wholeBody(draft)]);
  },
  'another encoding': (draft) => {
    draft.raw = Buffer.from(bodyText(draft) ?? '{}', 'utf16le');
  },
  'a packed body': (draft, random) => {
    draft.raw = gzipSync(wholeBody(draft));
    if (random.integerBelow(4) > 0) setHeader(draft, 'content-encoding', random.pick(CONTENT_CODINGS));
  },
  'a large body': (draft, random) => {
    draft.raw = Buffer.from(`{"x":"${'x'.repeat(random.pick([60_000, 65_528, 65_529, 100_000]))}"}`);
  },
  'another type': (draft, random) =>
    setHeader(draft, 'content-type', random.pick([...CONTENT_TYPES, ...UNUSUAL_CONTENT_TYPES])),
  'another coding': (draft, random) => setHeader(draft, 'content-encoding', random.pick(CONTENT_CODINGS)),
  'another answer': (draft, random) => setHeader(draft, 'accept', random.pick(ACCEPT_VALUES)),
  'a strange header': (draft, random) => setHeader(draft, ...random.pick(UNUSUAL_HEADERS)),
  'a word': (draft, random) => setHeader(draft, 'idempotency-key', random.pick(IDEMPOTENCY_KEYS)),
  'a condition': (draft, random, { tags }) =>
    setHeader(draft, random.pick(['if-match', 'if-none-match']), random.pick([...ETAGS, ...tags])),
  'another method': (draft, random) => {
    draft.method = random.pick(METHODS);
  },
  'a stranger': (draft, random) => {
    const name = random.pick(['key', 'domain']);
    const [, value = ''] = draft.headers.find(([one]) => one === name) ?? [];
    const wrong = [`${value}x`, value.slice(1), '', 'x', '\xff', `${value},${value}`, "' or 1=1 --", '__proto__'];
    setHeader(draft, name, random.pick(wrong));
  },
};

export const corruptionNames = Object.keys(corruptionsByName);

/** Applies one corruption to a request. */
export function corrupt(
  draft: RequestDraft,
  name: string,
  random: SeededRandom,
  seen: { tags: readonly string[] },
): void {
  corruptionsByName[name]?.(draft, random, seen);
  draft.corruptions.push(name);
}

function bodyText({ fields }: Pick<RequestDraft, 'fields'>): string | undefined {
  return fields === undefined ? undefined : `{${fields.map(([name, json]) => `"${name}":${json}`).join()}}`;
}

/** Returns the body as it is sent, or undefined without a body. */
export function serializeBody(draft: RequestDraft): Buffer | undefined {
  if (draft.raw !== undefined) return draft.raw;
  const text = bodyText(draft);
  return text === undefined ? undefined : Buffer.from(text);
}

/** Returns the path and query as they are sent. */
export function requestTarget({ operation, ids, suffix, query }: RequestDraft): string {
  let at = 0;
  const path = operation.path.replace(/\{\w+\}/g, () => ids[at++] ?? '');
  const pairs = query.map(([name, written]) => `${name}=${written}`).join('&');
  // Characters that HTTP does not allow in a request line are tested by the corpus of malformed requests.
  return encodeControls(`${path}${suffix}${pairs === '' ? '' : `?${pairs}`}`);
}

const encodeControls = (text: string) => text.replace(/[^\x21-\x7e]/gu, (sign) => encodeURIComponent(sign));

/** Serializes a request with correct HTTP framing: only its content is corrupted. */
export function serializeDraft(draft: RequestDraft): Buffer {
  const body = serializeBody(draft);
  const lines = [
    `${draft.method} ${requestTarget(draft)} HTTP/1.1`,
    ...draft.headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`content-length: ${body.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}
