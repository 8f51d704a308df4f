import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { rawRequest } from '../kit/raw.ts';
import { startTestService, temporaryFolder } from '../kit/service.ts';

test('X6 every request is 503 while the disk fails, and a log line names the reason', async (t) => {
  const path = join(temporaryFolder(t), 'carillon.db');
  const ports = { onFatal: () => undefined };
  const carillon = await startTestService(t, `sqlite:${path}`, { ports });
  const owner = await carillon.account('acme.test');
  const disk = new DatabaseSync(path);
  disk.exec('pragma wal_checkpoint(truncate)');
  disk.close();
  truncateSync(path, 4_096);
  // An invalid path and an unknown method are rejected before routing.
  for (const line of ['GET /v2/events', 'GET /v2/%zz', 'FROB /v2/events']) {
    const before = carillon.logged.length;
    const credentials = [`domain: ${owner.domain}`, `key: ${owner.key}`];
    const { status, body } = await rawRequest(carillon.baseUrl, [`${line} HTTP/1.1`, 'host: x', ...credentials]);
    assert.deepEqual([status, JSON.parse(body).code], [503, 'storage_unavailable'], line);
    const logLine = await eventually(
      () => carillon.logged.slice(before).find(({ event }) => event === 'request.failed'),
      (found) => found !== undefined,
    );
    assert.match(JSON.stringify(logLine), /disk|malformed|SQLITE/i, line);
  }
});
