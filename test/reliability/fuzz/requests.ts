import { gzipSync } from 'node:zlib';
import type { SeededRandom } from '../../kit/random.ts';
import type { Operation } from './document.ts';
import { type KnownIds, validValue, WRONG_IDS, WRONG_JSON, WRONG_QUERY } from './values.ts';

/** A request under construction, in parts that can be corrupted one by one. */
export type Draft = {
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

export type Caller = Readonly<Record<string, string>>;

/** A valid id that was never issued. */
const UNKNOWN_ID = '9007199254740990';

/** Returns valid values for all required fields, and for a random selection of the optional fields. */
function fieldsOf({ body }: Operation, known: KnownIds, random: SeededRandom): Draft['fields'] {
  if (body === undefined) return undefined;
  const required: readonly string[] = body.required ?? [];
  const fields: [string, string][] = [];
  const density = random.below(4);
  for (const [name, schema] of Object.entries(body.properties ?? {})) {
    const isWanted = required.includes(name) || name.endsWith('_date') || random.below(4) < density;
    const value = isWanted ? validValue(name, schema, known, random) : undefined;
    if (value !== undefined) fields.push([name, JSON.stringify(value)]);
  }
  return fields;
}

/** Builds a request that is valid according to the document. */
export function validRequest(operation: Operation, caller: Caller, known: KnownIds, random: SeededRandom): Draft {
  const query: [string, string][] = [];
  for (const { name, schema } of operation.query) {
    if (random.below(4) > 0) continue;
    const value = validValue(name, schema, known, random);
    if (value !== undefined) query.push([name, encodeURIComponent(String(value))]);
  }
  const fields = fieldsOf(operation, known, random);
  const ids = operation.ids.map((name) => known.one(name, random) ?? UNKNOWN_ID);
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

type Corruption = (draft: Draft, random: SeededRandom, seen: { readonly tags: readonly string[] }) => void;

const header = (draft: Draft, name: string, value: string) => {
  draft.headers = [...draft.headers.filter(([one]) => one !== name), [name, value]];
};
const whole = (draft: Draft) => Buffer.from(bodyText(draft) ?? '{"a":1}');

const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/json; charset="utf-8"',
  'application/x-www-form-urlencoded',
];
const MORE_TYPES = [
  'multipart/form-data',
  'application/problem+json',
  '',
  ';',
  'application/json;',
  '*/*',
  'a/b/c',
  'application/json; x=y',
];
const CODINGS = ['gzip', 'br', 'identity', 'deflate, gzip', 'x', 'GZIP'];
const ACCEPTS = [
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
const WORDS = ['w1', 'w2', 'w3', 'é', '', 'a b', 'x'.repeat(255), 'x'.repeat(256), '"quoted"', "';--"];
const TAGS = ['*', '""', '"x"', 'W/"x"', 'x', '"a", "b"', '*, "x"', '"', 'W/*', ',', '"\xff"'];
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
    draft.ids = draft.ids.map((id) => (random.below(3) > 0 ? random.one(WRONG_IDS) : id));
  },
  'a strange path': (draft, random) => {
    draft.suffix = random.one(SUFFIXES);
  },
  'a strange query': (draft, random) => {
    const name = draft.operation.query.length === 0 ? 'x' : random.one(draft.operation.query).name;
    draft.query.push([random.below(8) === 0 ? random.one(WRONG_QUERY) : name, random.one(WRONG_QUERY)]);
  },
  'a repeated query': (draft) => {
    draft.query.push(...draft.query, ['limit', '1'], ['limit', '2']);
  },
  'a wrong value': (draft, random) => {
    if (draft.fields === undefined) draft.fields = [];
    const names = Object.keys(draft.operation.body?.properties ?? { x: 1 });
    const name = random.one(names);
    draft.fields = [...draft.fields.filter(([one]) => one !== name), [name, random.one(WRONG_JSON)]];
  },
  'a field less': (draft, random) => {
    const left = random.below(8);
    draft.fields = draft.fields?.filter((_, index) => index !== left);
  },
  'a field more': (draft, random) => {
    const name = random.one([
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
    draft.fields = [...(draft.fields ?? []), [name, random.one(WRONG_JSON)]];
  },
  'a field twice': (draft, random) => {
    const [name, json] = draft.fields?.[0] ?? ['x', '1'];
    draft.fields = [...(draft.fields ?? []), [name, random.one([json, random.one(WRONG_JSON)])]];
  },
  'another body': (draft, random) => {
    draft.raw = Buffer.from(
      random.one([...WRONG_JSON, '', ' ', '{', '{}}', '{}{}', '{"a":1,}', '{a:1}', 'a=1', '<a/>', '[{}]', '"{}"']),
    );
  },
  'half a body': (draft, random) => {
    const all = whole(draft);
    draft.raw = all.subarray(0, random.below(all.length));
  },
  'bytes in its body': (draft, random) => {
    const all = whole(draft);
    for (let count = 0; count < 3; count += 1) all[random.below(all.length)] = random.below(256);
    draft.raw = all;
  },
  'a byte order mark': (draft, random) => {
    const mark = random.one([[0xef, 0xbb, 0xbf], [0xff, 0xfe], [0x1e], [0]]);
    draft.raw = Buffer.concat([Buffer.from(mark), whole(draft)]);
  },
  'another encoding': (draft) => {
    draft.raw = Buffer.from(bodyText(draft) ?? '{}', 'utf16le');
  },
  'a packed body': (draft, random) => {
    draft.raw = gzipSync(whole(draft));
    if (random.below(4) > 0) header(draft, 'content-encoding', random.one(CODINGS));
  },
  'a large body': (draft, random) => {
    draft.raw = Buffer.from(`{"x":"${'x'.repeat(random.one([60_000, 65_528, 65_529, 100_000]))}"}`);
  },
  'another type': (draft, random) => header(draft, 'content-type', random.one([...TYPES, ...MORE_TYPES])),
  'another coding': (draft, random) => header(draft, 'content-encoding', random.one(CODINGS)),
  'another answer': (draft, random) => header(draft, 'accept', random.one(ACCEPTS)),
  'a strange header': (draft, random) => header(draft, ...random.one(UNUSUAL_HEADERS)),
  'a word': (draft, random) => header(draft, 'idempotency-key', random.one(WORDS)),
  'a condition': (draft, random, { tags }) =>
    header(draft, random.one(['if-match', 'if-none-match']), random.one([...TAGS, ...tags])),
  'another method': (draft, random) => {
    draft.method = random.one(METHODS);
  },
  'a stranger': (draft, random) => {
    const name = random.one(['key', 'domain']);
    const [, value = ''] = draft.headers.find(([one]) => one === name) ?? [];
    const wrong = [`${value}x`, value.slice(1), '', 'x', '\xff', `${value},${value}`, "' or 1=1 --", '__proto__'];
    header(draft, name, random.one(wrong));
  },
};

export const corruptionNames = Object.keys(corruptionsByName);

/** Applies one corruption to a request. */
export function corrupt(draft: Draft, name: string, random: SeededRandom, seen: { tags: readonly string[] }): void {
  corruptionsByName[name]?.(draft, random, seen);
  draft.corruptions.push(name);
}

function bodyText({ fields }: Pick<Draft, 'fields'>): string | undefined {
  return fields === undefined ? undefined : `{${fields.map(([name, json]) => `"${name}":${json}`).join()}}`;
}

/** Returns the body as it is sent, or undefined without a body. */
export function bodyOf(draft: Draft): Buffer | undefined {
  if (draft.raw !== undefined) return draft.raw;
  const text = bodyText(draft);
  return text === undefined ? undefined : Buffer.from(text);
}

/** Returns the path and query as they are sent. */
export function addressOf({ operation, ids, suffix, query }: Draft): string {
  let at = 0;
  const path = operation.path.replace(/\{\w+\}/g, () => ids[at++] ?? '');
  const pairs = query.map(([name, written]) => `${name}=${written}`).join('&');
  // Characters that HTTP does not allow in a request line are tested by the corpus of malformed requests.
  return encodeControls(`${path}${suffix}${pairs === '' ? '' : `?${pairs}`}`);
}

const encodeControls = (text: string) => text.replace(/[^\x21-\x7e]/gu, (sign) => encodeURIComponent(sign));

/** Serializes a request with correct HTTP framing: only its content is corrupted. */
export function bytesOf(draft: Draft): Buffer {
  const body = bodyOf(draft);
  const lines = [
    `${draft.method} ${addressOf(draft)} HTTP/1.1`,
    ...draft.headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`content-length: ${body.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}
