import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inherited } from '../kit/environment.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/port.ts';
import { temporaryFolder } from '../kit/service.ts';
import { sqlite } from '../kit/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const receiving = readFileSync(new URL('../../docs/receiving.md', import.meta.url), 'utf8');

/** Returns the `sh story` block of a page, with these values assigned in its first lines. */
function storyOf(page: string, values: Readonly<Record<string, string>>): string {
  const [story = '', ...more] = [...page.matchAll(/^```sh story\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? '')
    .filter((text) => text.includes('PORT=9090'));
  assert.ok(story !== '' && more.length === 0, 'the page has one story block');
  let text = story;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^(export )?${name}=.*$`, 'm');
    assert.match(text, line, `the story begins with ${name}`);
    text = text.replace(line, (_, exported = '') => `${exported}${name}='${value}'`);
  }
  return text;
}

/** Runs a story and returns its output. Background processes end with it, even after an error. */
async function runStory(story: string, cwd: string): Promise<string> {
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${story}`;
  const env = { ...inherited, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: cwd };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    timeout: 60_000,
    cwd,
    env,
  });
  return stdout;
}

test('the receiver in the README, unchanged: it receives events, is stopped, and has missed none', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.account('acme.test');
  // A copy of the clone with an empty data folder.
  const clone = temporaryFolder(t);
  mkdirSync(join(clone, 'data'));
  for (const name of ['src', 'packages', 'node_modules', 'package.json'])
    symlinkSync(join(root, name), join(clone, name));
  const values = {
    CARILLON_SERVICE: carillon.baseUrl,
    CARILLON_DOMAIN: owner.domain,
    CARILLON_KEY: owner.key,
    PORT: String(await freePort()),
  };
  await runStory(storyOf(readme, values), clone);

  assert.equal(readFileSync(join(clone, 'data/received.txt'), 'utf8'), 'Launch\nWhile it was down\n');
  // The second start found the hook of the first.
  const { data: hooks } = await owner.carillon.hooks.list();
  assert.deepEqual(
    hooks.map(({ event }) => event),
    ['new_event'],
  );
});

test('the example in docs/receiving.md, unchanged: subscribe, create, receive, fetch, list deliveries', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.account('acme.test');
  const values = { SERVICE: carillon.baseUrl, DOMAIN: owner.domain, KEY: owner.key, PORT: String(await freePort()) };
  const output = await runStory(storyOf(receiving, values), temporaryFolder(t));
  const [hook, event, notification, fetched, history] = output
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

test('the README shows the lines that the first start prints', () => {
  const greeting = readFileSync(new URL('../../src/cli/server/serve.ts', import.meta.url), 'utf8');
  const documented = readme.match(/^(console|domain|key): /gm) ?? [];
  assert.deepEqual(documented, ['console: ', 'domain: ', 'key: ']);
  for (const line of documented) assert.ok(greeting.includes(line), line);
});
