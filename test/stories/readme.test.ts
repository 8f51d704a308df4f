import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../harness/eventually.ts';
import { sqlite } from '../harness/stores.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The one block of the README that is a story. */
function story(): string {
  const [first, ...more] = [...readme.matchAll(/^```sh story\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  assert.ok(first !== undefined && more.length === 0, 'the README tells one story');
  return first;
}

/** The story with these values in the lines at its top, and nothing else changed. */
function told(values: Readonly<Record<string, string>>): string {
  let text = story();
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^${name}=.*$`, 'm');
    assert.match(text, line, `the story begins with ${name}`);
    text = text.replace(line, () => `${name}='${value}'`);
  }
  return text;
}

async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(typeof address === 'object' && address !== null ? address.port : 0);
}

test('the story of the README, word for word: subscribe, create, be told, fetch, look back', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.account('acme.test');
  const values = { SERVICE: carillon.baseUrl, DOMAIN: owner.domain, KEY: owner.key, PORT: await freePort() };

  // The receiver ends with the story, also when a line of it fails.
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${told(values)}`;
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    timeout: 30_000,
    // The story's `node` is the one that npm would find, as for a reader.
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  const [hook, event, notification, fetched, history] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  assert.match(hook.id, /^\d+$/);
  assert.equal(event.data.event_name, 'Launch');
  const resourceUrl = `${carillon.baseUrl}/v2/events/${event.data.event_id}`;
  assert.deepEqual(notification, { resource_url: resourceUrl });
  assert.deepEqual(fetched, event);
  assert.equal(history.paging.total_records, 1);
  assert.equal(history.data[0].hook_id, hook.id);
  assert.equal(history.data[0].resource_url, resourceUrl);

  const delivery = await eventually(
    () => owner.carillon.deliveries.get(history.data[0].id),
    (one) => one.state === 'delivered',
  );
  assert.deepEqual(
    delivery.attempts.map(({ outcome }) => outcome),
    ['200'],
  );
});

test('what the README says of the first start is what a first start prints', () => {
  const greeting = readFileSync(new URL('../../src/cli/serve.ts', import.meta.url), 'utf8');
  const shown = readme.match(/^(console|domain|key): /gm) ?? [];
  assert.deepEqual(shown, ['console: ', 'domain: ', 'key: ']);
  for (const line of shown) assert.ok(greeting.includes(line), line);
});
