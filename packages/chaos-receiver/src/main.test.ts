import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { carillon, carillonJson } from '../../../test/harness/command.ts';
import { type Json, temporaryFolder } from '../../../test/harness/service.ts';
import { behaviourOf, behaviours } from './behaviours.ts';
import { createAuthority, DAY_MS, goodFor } from './certificates.ts';
import { chanceFrom } from './random.ts';
import { parseScript, play } from './script.ts';
import { programOf } from '../../../src/cli/commands.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

type Running = { readonly url: string; readonly lines: AsyncIterator<string>; readonly child: ChildProcess };

/** Starts it on a free port; ended when the test ends. */
async function receiver(t: TestContext, ...flags: readonly string[]): Promise<Running> {
  const child = spawn(process.execPath, [main, 'chaos-receiver', '--port', '0', '--json', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { url: (await nextOf(lines)).listening, lines, child };
}

async function nextOf(lines: AsyncIterator<string>): Promise<Json> {
  return JSON.parse((await lines.next()).value);
}

const post = (url: string) => fetch(url, { method: 'POST', body: '{"a":1}', redirect: 'manual' });
const statuses = async (url: string, count: number) => {
  const seen: number[] = [];
  for (let index = 0; index < count; index += 1) seen.push((await post(url)).status);
  return seen;
};

/** The names of what a script plays. */
function played(text: string, count: number, seed = 1): readonly string[] {
  const steps = parseScript(text);
  assert.ok(!('fault' in steps), text);
  const script = play(steps, chanceFrom(seed));
  return Array.from({ length: count }, () => script.next().slug);
}

test('a script is played step by step and begins again, or goes on with its last step for ever', () => {
  assert.deepEqual(played('503*2,200', 4), ['503', '503', '200', '503']);
  assert.deepEqual(played('hang, 200*', 4), ['hang', '200', '200', '200']);
  assert.deepEqual(new Set(played('200|503|499', 60)), new Set(['200', '503', '499']));
  assert.deepEqual(played('random', 20, 7), played('random', 20, 7));
  assert.notDeepEqual(played('random', 20, 7), played('random', 20, 8));
  const faults: readonly (readonly [string, RegExp])[] = [
    ['', /an empty step/],
    ['200,,503', /an empty step/],
    ['200*0', /200\*0 is no step/],
    ['200*,503', /only the last step/],
    ['200|', /200\| is no step/],
    ['Hangs', /no behaviour Hangs; there is hang/],
    ['tls-expird', /no behaviour tls-expird; there is tls-expired/],
    ['drip', /no behaviour drip; there is tls-drip, drip-head/],
    ['199', /no behaviour 199/],
  ];
  for (const [text, fault] of faults) {
    const parsed = parseScript(text);
    assert.match('fault' in parsed ? parsed.fault : '', fault, text);
  }
});

test('the names of behaviours are their own, can stand in a path and in a script, and say what they do', () => {
  assert.equal(new Set(behaviours.map(({ slug }) => slug)).size, behaviours.length);
  for (const { slug, says } of behaviours) {
    assert.match(slug, /^[a-z0-9][a-z0-9.-]+$/);
    assert.equal(encodeURIComponent(slug), slug);
    assert.match(says, /^[A-Z].*\.$/);
    assert.equal(behaviourOf(slug)?.slug, slug);
  }
  assert.equal(behaviourOf('299')?.sees, 299);
});

test('the path says what happens, each address has its own place in its script, and all of it is told', async (t) => {
  const { url, lines } = await receiver(t);
  assert.deepEqual(await statuses(`${url}503*2,200/orders`, 4), [503, 503, 200, 503]);
  assert.deepEqual(await statuses(`${url}503*2,200/invoices`, 1), [503]);
  assert.deepEqual(await statuses(`${url}200%7C200`, 1), [200]);
  assert.deepEqual(await statuses(`${url}nothing`, 1), [404]);
  await assert.rejects(post(`${url}rst-after-request`));
  const told: Json[] = [];
  for (let count = 0; count < 8; count += 1) told.push(await nextOf(lines));
  assert.deepEqual(
    told.map(({ behaviour }) => behaviour),
    ['503', '503', '200', '503', '503', '200', null, 'rst-after-request'],
  );
  const { asked, bytesRead, tls } = told[0];
  assert.deepEqual(
    [asked.method, asked.path, asked.body, asked.bodyBytes],
    ['POST', '/503*2,200/orders', '{"a":1}', 7],
  );
  assert.equal(asked.headers['content-length'], '7');
  assert.ok(bytesRead > 50 && tls === false);
});

test('what begins before a path is said is not named by one, and what is for https is not done in plain', async (t) => {
  const { url } = await receiver(t, '--script', 'tls-expired');
  assert.match(url, /^https:/);
  const faults: readonly (readonly [string, string])[] = [
    [url.replace('https:', 'http:'), 'tls-expired is for https'],
    ...(await receiver(t).then((open): [string, string][] => [
      [`${open.url}tls-expired`, 'tls-expired begins before a path is said: name it with --script, or use --each'],
      [`${open.url}200,smtp`, 'smtp begins before a path is said: name it with --script, or use --each'],
      [`${open.url}tls-ok`, 'tls-ok is for https'],
      [`${open.url}hangs`, 'there is no behaviour hangs; there is hang'],
    ])),
  ];
  for (const [address, fault] of faults) {
    const answer = await post(address);
    assert.equal(answer.status, 404);
    assert.ok((await answer.text()).startsWith(fault), address);
  }
});

test('whoever follows a redirect comes to a success, whatever the port does, and is seen', async (t) => {
  const { url, lines } = await receiver(t, '--script', 'redirect-307');
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 200);
  const told = [await nextOf(lines), await nextOf(lines)];
  assert.deepEqual(
    told.map(({ behaviour, asked }) => [behaviour, asked.path]),
    [
      ['redirect-307', '/'],
      ['200', '/200?followed'],
    ],
  );
});

test('a port that is taken ends it, also behind others that were free', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, faults } = await carillon(['chaos-receiver', '--each', '--port', String(port - 3)]);
  assert.deepEqual([code, faults.length], [1, 1]);
  assert.match(faults[0] ?? '', /^--port: .*EADDRINUSE/);
});

test('a script for the whole port is played whatever the path, and Ctrl-C ends it well', async (t) => {
  const { url, child } = await receiver(t, '--script', '418,200');
  assert.deepEqual(await statuses(`${url}anything`, 3), [418, 200, 418]);
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await exited, [0, null]);
});

test('the same port speaks TLS, by a certificate of the authority that it has written', async (t) => {
  const caFile = join(temporaryFolder(t), 'ca.pem');
  const { url } = await receiver(t, '--ca-file', caFile);
  const ca = readFileSync(caFile, 'utf8');
  const status = (address: string, trusted?: string) =>
    new Promise((resolve, reject) => {
      const request = get(address, { ...(trusted === undefined ? {} : { ca: trusted }), agent: false });
      request.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
  const { port } = new URL(url);
  for (const host of ['127.0.0.1', 'localhost']) {
    assert.equal(await status(`https://${host}:${port}/tls-ok`, ca), 200);
    await assert.rejects(status(`https://${host}:${port}/tls-ok`), /certificate/);
  }
});

test('certificates read as what they were made to be', () => {
  const now = Date.UTC(2026, 10, 20);
  const hosts = ['localhost', '127.0.0.1', '::1', `${'long.'.repeat(40)}example`];
  const authority = createAuthority(hosts, now);
  const root = new X509Certificate(authority.certificate);
  const leaf = new X509Certificate(authority.issue(goodFor(hosts, now)).cert);
  assert.ok(root.ca && root.verify(root.publicKey) && leaf.verify(root.publicKey) && leaf.checkIssued(root));
  assert.equal(leaf.ca, false);
  for (const host of hosts.filter((one) => /[a-z]/.test(one))) assert.equal(leaf.checkHost(host), host);
  assert.equal(leaf.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(leaf.checkIP('::1'), '::1');
  assert.equal(leaf.checkHost('wrong.example'), undefined);
  assert.deepEqual([leaf.validFromDate.getTime(), leaf.validToDate.getTime()], [now - DAY_MS, now + 30 * DAY_MS]);
  const late = { hosts, from: Date.UTC(2049, 11, 31), until: Date.UTC(2050, 0, 1) };
  assert.equal(new X509Certificate(authority.alone(late).cert).validToDate.getTime(), late.until);
});

test('what it cannot do is said in one line, by the name of the flag', async () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['--script', 'hangs'], /^--script: there is no behaviour hangs/],
    [['--port', '65536'], /^--port must be a number from 0 to 65535; 65536 is none/],
    [['--each', '--port', '65500'], /^--port must be a number from 0 to 65\d{3}; 65500 is none/],
    [['--deadline', 'soon'], /^--deadline must be a duration/],
    [['--pace', '0s'], /^--pace must be a duration/],
    [['--seed', '-1'], /^--seed must be a whole number/],
    [['--host', '192.0.2.1', '--port', '0'], /^--host: .*EADDRNOTAVAIL/],
    [['--ca-file', '/nowhere/ca.pem', '--port', '0'], /^--ca-file: .*ENOENT/],
    [['--script', '200', '--each'], /cannot be used with/],
  ];
  for (const [flags, fault] of wrong) {
    const program = await programOf((name) => name === 'chaos-receiver');
    program.commands.forEach(
      (command) => void command.exitOverride().configureOutput({ outputError: () => undefined }),
    );
    await assert.rejects(program.parseAsync(['chaos-receiver', ...flags], { from: 'user' }), (error: Error) => {
      assert.match(error.message, fault);
      return !error.message.includes('\n');
    });
  }
});

test('the list has all behaviours, and what a sender has to make of each', async () => {
  const listed = await carillonJson(['chaos-receiver', '--list']);
  assert.equal(listed.length, behaviours.length);
  assert.ok(listed.length >= 60);
  const comesTo = (slug: string) => listed.find((one: Json) => one.slug === slug).comes_to;
  assert.deepEqual(['204', '401', 'slow-in-time', 'tls-ok'].map(comesTo), [
    'failed',
    'ended',
    'delivered',
    'delivered',
  ]);
  const { stdout } = await carillon(['chaos-receiver', '--list']);
  assert.match(stdout, /^ {2}hang-unread +failed +timeout +Accepts/m);
});
