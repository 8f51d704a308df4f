import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { exportToFile, importFromFile, readLines, silentProgress } from '../../test/kit/service/export-import.ts';
import { fillAccount, readAllRows } from '../../test/kit/service/full-accounts.ts';
import { createTemporaryFolder } from '../../test/kit/service/service.ts';
import { sqlite } from '../../test/kit/service/stores.ts';
import { exportedTables } from './exported-tables.ts';
import { appendChecksum, type ExportHeader, ExportSerializer, TableHasher } from './format.ts';
import { findIncompleteTransfer } from './incomplete-transfers.ts';
import { validateFile } from './validate-file.ts';

// Validation of a file does not depend on the database, so these tests use only SQLite.
const folder = createTemporaryFolder({ after });
const path = join(folder, 'good.jsonl');
const other = join(folder, 'other.jsonl');

before(async () => {
  const source = await openStoreAt({ after }, await sqlite.database({ after }));
  await fillAccount(source, 'acme.test', { accountId: 1, first: 2_001, count: 2 });
  await exportToFile(source, path, 'acme.test');
  await source.close();
});

const START_DATE = /"start_date":"(?:[^"\\]|\\.)*"/;

/** Asserts that a changed file is rejected with this error. */
async function assertRejected(bytes: Buffer | string, fault: string | RegExp): Promise<void> {
  writeFileSync(other, bytes);
  await assert.rejects(validateFile(other, silentProgress), { name: 'TransferError', message: fault });
}

/** Changes lines and recomputes their checksums. */
function withNewChecksums(lines: readonly string[], change: (body: string, line: number) => string): string {
  let crc = 0;
  let text = '';
  for (const [index, line] of lines.entries()) {
    const put = appendChecksum(change(line.slice(0, -',"crc":"01234567"}'.length), index + 1), crc);
    crc = put.crc;
    text += put.line;
  }
  return text;
}

test('an unchanged file is accepted', async () => {
  copyFileSync(path, other);
  const { header, totals, scope } = await validateFile(other, silentProgress);
  assert.deepEqual([header.domain, scope, totals.rows], ['acme.test', 1, readLines(path).length - 2]);
});

test('one changed byte is found anywhere, and its line is reported', async () => {
  const good = readFileSync(path);
  let line = 1;
  for (let at = 0; at < good.length; at += 1) {
    const bytes = Buffer.from(good);
    // The changed byte is a similar character, so that only the checksum detects the change.
    bytes.writeUInt8(good.readUInt8(at) ^ 1, at);
    if (at % 23 === 0 && good.readUInt8(at) !== 10) {
      const expected = line === 1 ? /^(?:Line 1 is damaged|.* is not an export of Carillon)/ : faultIn(line);
      await assertRejected(bytes, expected);
    }
    if (good.readUInt8(at) === 10) line += 1;
  }
});

const faultIn = (line: number) =>
  new RegExp(
    `^Line ${line} is (?:damaged: its checksum does not match|not a line of an export: it has no checksum)\\.$`,
  );

test('a file truncated at any byte is rejected, and the line is reported', async () => {
  const good = readFileSync(path);
  const lines = readLines(path).length;
  await assertRejected(good.subarray(0, good.length - 1), `Line ${lines} is cut off: the export is incomplete.`);
  let line = 1;
  for (let at = 1; at < good.length - 1; at += 1) {
    if (good.readUInt8(at - 1) === 10) {
      line += 1;
      await assertRejected(
        good.subarray(0, at),
        `Line ${line}, the end of the export, is missing: the export is incomplete.`,
      );
      await assertRejected(good.subarray(0, at + 9), `Line ${line} is cut off: the export is incomplete.`);
    }
  }
  await assertRejected('', `${other} is empty: it is not an export of Carillon.`);
});

test('a line that is missing, duplicated, moved or after the end is reported', async () => {
  const lines = readLines(path);
  const text = (some: readonly (string | undefined)[]) => `${some.join('\n')}\n`;
  const wrong = (line: number) => `Line ${line} is damaged: its checksum does not match.`;
  await assertRejected(text(lines.toSpliced(6, 1)), wrong(7));
  await assertRejected(text(lines.toSpliced(6, 0, lines[6] ?? '')), wrong(8));
  await assertRejected(text(lines.toSpliced(6, 2, lines[7] ?? '', lines[6] ?? '')), wrong(7));
  await assertRejected(text([...lines, lines[3]]), `Line ${lines.length + 1} is after the end of the export.`);
  await assertRejected(text(lines.toSpliced(6, 0, '')), 'Line 7 is not a line of an export: it has no checksum.');
});

test('a line that does not match its table is reported with its field', async () => {
  const lines = readLines(path);
  const at = lines.findIndex((line) => line.startsWith('{"table":"events"')) + 1;
  const withChangedLine = (change: (body: string) => string) =>
    withNewChecksums(lines, (body, line) => (line === at ? change(body) : body));
  const cases: [(body: string) => string, string][] = [
    [(body) => body.replace(START_DATE, '"start_date":7'), 'events.start_date must be a text'],
    [(body) => body.replace(START_DATE, '"start_date":null'), 'events.start_date must be a text'],
    [(body) => body.replace('"event_id":2001', '"event_id":"2001"'), 'events.event_id must be a number'],
    [(body) => body.replace('"event_id":2001', '"event_id":2001.5'), 'events.event_id must be a number'],
    [(body) => body.replace('"event_id":2001', '"event_id":9007199254740993'), 'events.event_id must be a number'],
    [(body) => body.replace('"event_id":2001,', ''), 'events.event_id is missing'],
    [(body) => body.replace('"event_id":2001,', '"event_id":2001,"place":"x",'), 'events.account_id is out of order'],
    [(body) => body.replace(/\}$/, ',"place":"x"}'), 'events.place is unknown'],
    [
      (body) => body.replace('"event_id":2001', '"event_id":9001'),
      'events.event_id is higher than any id that was issued',
    ],
    [(body) => body.replace('"account_id":1', '"account_id":2'), 'events.account_id is not that of acme.test'],
    [(body) => body.replace(/"row":.*$/, '"row":[1]'), 'events must be an object'],
  ];
  for (const [change, fault] of cases) await assertRejected(withChangedLine(change), `Line ${at}: ${fault}.`);
  await assertRejected(
    withChangedLine((body) => body.replace(/\}$/, '')),
    `Line ${at} is not JSON.`,
  );
  await assertRejected(
    withChangedLine((body) => body.replace('"events"', '"nodes"')),
    `Line ${at}: there is no table nodes.`,
  );
  await assertRejected(
    withChangedLine(() => '{"hello":{}'),
    `Line ${at} is neither a row nor the end of an export.`,
  );
  await assertRejected(
    withChangedLine((body) => body.replace('"events"', '"users"')),
    `Line ${at}: users must come before subtasks in an export.`,
  );
});

test('an end that does not match the lines is rejected with the table concerned', async () => {
  const lines = readLines(path);
  const end = lines.length;
  const ended = (change: (body: string) => string) =>
    withNewChecksums(lines, (body, line) => (line === end ? change(body) : body));
  const counted = ended((body) => body.replace(/"events":\{"rows":2/, '"events":{"rows":3'));
  await assertRejected(counted, `Line ${end}: events has 2 rows in the file, and 3 by its end.`);
  const summed = ended((body) => body.replace(/("sha256":")[0-9a-f]/, '$1x'));
  await assertRejected(
    summed,
    `Line ${end}, the end of the export (${lines.length - 2} rows), is not that of the lines before it.`,
  );
});

test('a file of another version is rejected with instructions', async () => {
  const lines = readLines(path);
  const from = (change: (body: string) => string) =>
    withNewChecksums(lines, (body, line) => (line === 1 ? change(body) : body));
  await assertRejected(
    from((body) => body.replace(/"schema":\d+,"version":"[^"]+"/, '"schema":99,"version":"9.1.0"')),
    /^The file is from a newer Carillon \(9\.1\.0, schema 99\); this one knows \d+\. Update Carillon\.$/,
  );
  await assertRejected(
    from((body) => body.replace(/"schema":\d+,"version":"[^"]+"/, '"schema":1,"version":"0.0.1"')),
    /^The file is from an older Carillon \(0\.0\.1, schema 1\); this one only imports schema \d+\. Import it with 0\.0\.1 and then upgrade, or export it again\.$/,
  );
  await assertRejected(
    from((body) => body.replace('"carillon":2', '"carillon":3')),
    /^The file is from a newer Carillon/,
  );
  await assertRejected('{"hello":"world"}\n', `${other} is not an export of Carillon.`);
  await assert.rejects(validateFile(join(folder, 'none'), silentProgress), { message: /none cannot be read: ENOENT/ });
});

test('nothing of a rejected file is imported', async (t) => {
  const destination = await openStoreAt(t, await sqlite.database(t));
  const good = readFileSync(path);
  const before = await readAllRows(destination);
  for (const bytes of [good.subarray(0, good.length - 40), Buffer.concat([good, Buffer.from('x')])]) {
    writeFileSync(other, bytes);
    await assert.rejects(importFromFile(destination, other), { name: 'TransferError' });
  }
  assert.deepEqual(await readAllRows(destination), before);
  assert.equal(await findIncompleteTransfer(destination.read), undefined);
});

test('rows that the database rejects are reported with their lines, and no service can start', async (t) => {
  const [head = '', ...lines] = readLines(path);
  const writer = new ExportSerializer();
  let text = writer.serializeHeader(without(head, 'crc') as ExportHeader);
  for (const table of exportedTables) {
    const rows = lines.slice(0, -1).map((line) => JSON.parse(line));
    const own = rows.filter((line) => line.table === table).map(({ row }) => row);
    const tallier = new TableHasher();
    // A row of `events` is duplicated, and the end line matches the duplicate.
    text += writer.serializeRows(table, table === 'events' ? [own[0], own[0]] : own, tallier);
    writer.closeTable(table, tallier);
  }
  writeFileSync(other, text + writer.serializeTotals().line);
  const store = await openStoreAt(t, await sqlite.database(t));
  const at = text.split('\n').findIndex((line) => line.startsWith('{"table":"events"')) + 1;
  await assert.rejects(importFromFile(store, other), {
    message: new RegExp(`^Lines ${at} to ${at + 1}: the database rejects these events: .*UNIQUE`),
  });
  assert.equal((await findIncompleteTransfer(store.read))?.work, 'import');
});

function without(json: string, field: string): unknown {
  const { [field]: _, ...rest } = JSON.parse(json);
  return rest;
}
