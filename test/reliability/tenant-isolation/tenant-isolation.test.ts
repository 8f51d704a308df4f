import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownRecordId, recordIdOrNone } from '../../../src/http/fields/reference-fields.ts';
import { shortText } from '../../../src/http/fields/scalar-fields.ts';
import { defineCreateRoute, defineListRoute } from '../../../src/http/routes/define-routes.ts';
import { idParameter, textParameter } from '../../../src/http/routes/query-parameters.ts';
import { comparableBytes, containsMark, diffLines, hidden, looksUnused, notPermitted, ruleFor } from './checks.ts';
import { classifyRoutes, findUntestedIds, placesOf } from './operations.ts';

const answer = (status: number, json: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  text: JSON.stringify(json),
  json,
});

test('a response that differs in its status, a header, a value or one byte is reported', () => {
  const unknown = answer(404, { code: 'not_found' }, { date: 'now', 'content-type': 'application/json' });
  const same = answer(404, { code: 'not_found' }, { date: 'later', 'content-type': 'application/json' });
  assert.equal(hidden(same, unknown), undefined);
  assert.notEqual(hidden({ ...same, status: 403 }, unknown), undefined);
  assert.notEqual(hidden({ ...same, text: `${same.text} ` }, unknown), undefined);
  const tagged = answer(404, { code: 'not_found' }, { 'content-type': 'application/json', etag: '"a"' });
  assert.notEqual(hidden(tagged, unknown), undefined);
  assert.notEqual(comparableBytes(tagged), comparableBytes(unknown));

  const made = answer(201, { data: { id: '7' } });
  assert.equal(looksUnused(answer(201, { data: { id: '8' } }), made), undefined);
  assert.notEqual(looksUnused(answer(201, { data: { id: '7' } }, { 'idempotency-replayed': 'true' }), made), undefined);
  assert.notEqual(looksUnused(answer(409, { code: 'email_taken' }), made), undefined);
  assert.notEqual(notPermitted(answer(401, { code: 'unauthorized' }), made), undefined);
  assert.equal(notPermitted(answer(401, { code: 'not_permitted' }), made), undefined);
  assert.ok(containsMark('zqtheirs', answer(200, {}, { link: '</v2/clients?client_name=zqtheirs-3>' })));
  assert.deepEqual(diffLines(new Set(['a', 'b']), new Set(['b', 'c'])), ['- a', '+ c']);
});

test('a new route, a new place for an id, and an id that is declared as a text are reported', () => {
  const { operations, others } = classifyRoutes(['GET /v2/events', 'HEAD /v2/events', 'GET /v2/secrets/:secret_id']);
  assert.deepEqual(
    operations.map(({ method, row }) => `${method} ${row.path}`),
    ['GET /events', 'HEAD /events'],
  );
  assert.deepEqual(others, ['GET /v2/secrets/:secret_id']);

  const fields = {
    note_id: ownRecordId('Its id.'),
    team_id: recordIdOrNone('The team.'),
    owner_id: shortText('Whose.'),
  };
  const row = defineCreateRoute({
    path: '/notes/{project_id}',
    description: 'Adds a note.',
    permission: undefined,
    fields,
    recordedKinds: [],
    location: { collectionPath: '/notes', idField: 'note_id' },
    handle: async () => ({ note_id: 1, team_id: 0, owner_id: '' }),
  });
  assert.deepEqual(
    placesOf({ row }).map(({ description }) => description),
    ['project_id in the path', 'team_id in the body'],
  );
  assert.deepEqual(findUntestedIds(row), ['owner_id']);
  assert.deepEqual(
    placesOf({ row }).map((place) => ruleFor(row, place)),
    ['shared', undefined],
  );

  const parameters = { team_id: idParameter('Of this team.'), task_ids: textParameter('Of these tasks.') };
  const lists = defineListRoute({
    path: '/notes',
    description: 'Notes.',
    permission: undefined,
    parameters,
    fields,
    handle: async () => ({ slices: [], total: 0 }),
  });
  assert.deepEqual(
    placesOf({ row: lists }).map(({ description }) => description),
    ['team_id in the query'],
  );
  assert.deepEqual(findUntestedIds(lists), ['task_ids']);
});
