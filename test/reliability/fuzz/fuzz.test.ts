import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationsIn } from './document.ts';
import { describeMismatch, type RawResponse } from './raw-client.ts';
import type { RequestDraft } from './requests.ts';
import { responseChecker } from './response-checks.ts';

const problem = {
  type: 'object',
  required: ['code'],
  properties: { code: { type: 'string' }, status: {}, errors: {} },
};
const failure = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problem } },
});
const tagged = { etag: '"a"', location: 'http://127.0.0.1/v2/bells/1' };
const record = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } };
const document = {
  servers: [{ url: 'http://127.0.0.1' }],
  paths: {
    '/v2/bells/{bell_id}': {
      get: { responses: { 200: { description: 'It is.', content: { 'application/json': { schema: record } } } } },
      put: {
        parameters: [{ name: 'bell_id', in: 'path', required: true, schema: { type: 'string' } }],
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', properties: { tone: { type: 'string' } } } } },
        },
        responses: {
          200: { description: 'It is.', content: { 'application/json': { schema: record } } },
          201: {
            description: 'It is new.',
            headers: { ETag: {}, Location: {}, Link: {} },
            content: { 'application/json': { schema: record } },
          },
          400: failure('invalid_input: Some fields.'),
          401: failure('unauthorized: Nobody.'),
        },
      },
    },
  },
};

const [reading, ...operations] = operationsIn(document);
if (reading === undefined) throw new Error('there is one to read');
const check = responseChecker(document, [reading, ...operations]);

function draft(given: Partial<RequestDraft> = {}): RequestDraft {
  const [operation] = operations;
  if (operation === undefined) throw new Error('there is one');
  const corruptions: string[] = [];
  const asked = {
    operation,
    method: 'PUT',
    ids: ['1'],
    suffix: '',
    query: [],
    headers: [],
    raw: undefined,
    corruptions,
  };
  return { ...asked, fields: [['tone', '"a"']], ...given };
}

function reply(status: number, body: unknown, headers: Record<string, string> = {}): RawResponse {
  const type = status < 300 ? 'application/json' : 'application/problem+json';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: new Map(Object.entries({ 'content-type': type, ...headers })), body: Buffer.from(text) };
}

test('R11 a response that the document describes is accepted, and every other is reported', () => {
  const wrong = (faults: string, ...answer: Parameters<typeof reply>) => {
    assert.match(check(draft(), reply(...answer)) ?? 'in order', new RegExp(faults));
  };
  const named = { code: 'invalid_input', status: 400, errors: [{ field: 'tone' }] };
  wrong('^in order$', 200, { id: '1' });
  wrong('^in order$', 400, named);
  wrong('^500', 500, { code: 'internal', status: 500 });
  wrong('^503', 503, { code: 'overloaded', status: 503 });
  wrong('has no 409', 409, { code: 'target_taken', status: 409 });
  wrong('has no text/html', 200, '<p>', { 'content-type': 'text/html' });
  wrong('must have required property', 200, {});
  wrong('must NOT have additional', 200, { id: '1', secret: '2' });
  wrong('no problem of', 400, { ...named, code: 'malformed_body' });
  wrong('names no field', 400, { ...named, errors: [] });
  wrong('names account_id', 400, { ...named, errors: [{ field: 'account_id' }] });
  wrong('without a challenge', 401, { code: 'unauthorized', status: 401 });
  wrong('with the header x-powered-by', 200, { id: '1' }, { 'x-powered-by': 'us' });
  wrong('without the header etag', 201, { id: '1' }, { location: 'http://127.0.0.1/v2/bells/1' });
  wrong('with the link nonsense', 201, { id: '1' }, { ...tagged, link: 'nonsense' });
  wrong('a Location that leads there', 201, { id: '1' }, { ...tagged, location: 'http://elsewhere.test/v2/bells/1' });
  wrong('^in order$', 201, { id: '1' }, tagged);
  wrong('tells too much', 400, { ...named, code: 'SQLITE_CONSTRAINT: constraint failed' });
});

test('R11 an accepted request that is invalid, and a response of an unknown operation, are reported', () => {
  const ok = reply(200, { id: '1' });
  assert.match(check(draft({ fields: [['tone', '7']] }), ok) ?? '', /it was taken/);
  assert.match(check(draft({ corruptions: ['a stranger'] }), ok) ?? '', /a stranger is answered 200/);
  assert.match(check(draft({ ids: ['1e3'] }), ok) ?? '', /is answered 200/);
  assert.match(check(draft({ method: 'PATCH' }), ok) ?? '', /PATCH .* is answered 200/);
  const head = (status: number) => check({ ...draft({ method: 'HEAD' }), operation: reading }, reply(status, ''));
  assert.match(head(418) ?? '', /HEAD is answered 418/);
  assert.equal(head(200), undefined);
});

test('R11 additional, wrong and unterminated responses to a malformed request are reported', () => {
  const one = { what: 'x', bytes: '', statuses: [400] };
  const text = 'HTTP/1.1 400 x\r\ncontent-type: application/problem+json\r\n\r\n';
  assert.equal(describeMismatch(one, { text, statuses: [400], isClosed: true }), undefined);
  assert.equal(describeMismatch(one, { text, statuses: [400, 200], isClosed: true }), '400,200 instead of 400');
  assert.equal(describeMismatch(one, { text, statuses: [], isClosed: true }), 'nothing instead of 400');
  assert.equal(describeMismatch(one, { text, statuses: [400], isClosed: false }), 'the connection stays open');
  assert.match(
    describeMismatch(one, { text: 'HTTP/1.1 400 x\r\n\r\n', statuses: [400], isClosed: true }) ?? '',
    /no problem/,
  );
});
