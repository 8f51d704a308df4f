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

/** The story that a page tells, with these values in the lines at its top, and nothing else changed. */
function told(page: string, values: Readonly<Record<string, string>>): string {
  const [story = '', ...more] = [...page.matchAll(/^```sh story\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? '')
    .filter((text) => text.includes('PORT=9090'));
  assert.ok(story !== '' && more.length === 0, 'the page tells one story');
  let text = story;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^(export )?${name}=.*$`, 'm');
    assert.match(text, line, `the story begins with ${name}`);
    text = text.replace(line, (_, exported = '') => `${exported}${name}='${value}'`);
  }
  return text;
}

/** What a story says on its way. Whatever it leaves running ends with it, also when a line of it fails. */
async function saidBy(story: string, cwd: string): Promise<string> {
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${story}`;
  const env = { ...inherited, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: cwd };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    timeout: 60_000,
    cwd,
    env,
  });
  return stdout;
}

test('the receiver in the README, word for word: it receives events, is stopped, and has missed none', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.account('acme.test');
  // A clone in which nothing was started yet: what the story writes stands apart from this one.
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
  await saidBy(told(readme, values), clone);

  assert.equal(readFileSync(join(clone, 'data/received.txt'), 'utf8'), 'Launch\nWhile it was down\n');
  // Its second start found the hook of the first.
  const { data: hooks } = await owner.carillon.hooks.list();
  assert.deepEqual(
    hooks.map(({ event }) => event),
    ['new_event'],
  );
});

test('the example in docs/receiving.md, word for word: subscribe, create, receive, fetch, list deliveries', async (t) => {
  const carillon = await sqlite.testService(t, { options: { retryWaits: '1m,2h' } });
  const owner = await carillon.account('acme.test');
  const values = { SERVICE: carillon.baseUrl, DOMAIN: owner.domain, KEY: owner.key, PORT: String(await freePort()) };
  const said = await saidBy(told(receiving, values), temporaryFolder(t));
  const [hook, event, notification, fetched, history] = said
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
  const greeting = readFileSync(new URL('../../src/cli/server/serve.ts', import.meta.url), 'utf8');
  const shown = readme.match(/^(console|domain|key): /gm) ?? [];
  assert.deepEqual(shown, ['console: ', 'domain: ', 'key: ']);
  for (const line of shown) assert.ok(greeting.includes(line), line);
});
