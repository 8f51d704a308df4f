import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTemporaryFolder, type Json } from '../../../test/kit/service/service.ts';
import { behaviours, findBehaviour } from './behaviours.ts';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

type ProgramResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs the program and waits until it ends. */
function run(...flags: readonly string[]): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const options = { timeout: 15_000, maxBuffer: 2 ** 22 };
    execFile(process.execPath, [main, ...flags], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

type RunningProgram = { readonly url: string; readonly lines: AsyncIterator<string>; readonly child: ChildProcess };

/** Starts the program on a free port. The program is killed when the test ends. */
async function start(t: TestContext, ...flags: readonly string[]): Promise<RunningProgram> {
  const child = spawn(process.execPath, [main, '--port', '0', '--json', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { url: (await nextJson(lines)).listening, lines, child };
}

async function nextJson(lines: AsyncIterator<string>): Promise<Json> {
  return JSON.parse((await lines.next()).value);
}

const post = (url: string) => fetch(url, { method: 'POST', body: '{"a":1}', redirect: 'manual' });
const statuses = async (url: string, count: number) => {
  const seen: number[] = [];
  for (let index = 0; index < count; index += 1) seen.push((await post(url)).status);
  return seen;
};

test('the path selects the script, each path has its own position in it, and every connection is reported', async (t) => {
  const { url, lines } = await start(t);
  assert.deepEqual(await statuses(`${url}503*2,200/orders`, 4), [503, 503, 200, 503]);
  assert.deepEqual(await statuses(`${url}503*2,200/invoices`, 1), [503]);
  assert.deepEqual(await statuses(`${url}200%7C200`, 1), [200]);
  assert.deepEqual(await statuses(`${url}nothing`, 1), [404]);
  await assert.rejects(post(`${url}rst-after-request`));
  const reports: Json[] = [];
  for (let count = 0; count < 8; count += 1) reports.push(await nextJson(lines));
  assert.deepEqual(
    reports.map(({ behaviour }) => behaviour),
    ['503', '503', '200', '503', '503', '200', null, 'rst-after-request'],
  );
  const { request, bytesRead, tls } = reports[0];
  assert.deepEqual(
    [request.method, request.path, request.body, request.bodyBytes],
    ['POST', '/503*2,200/orders', '{"a":1}', 7],
  );
  assert.equal(request.headers['content-length'], '7');
  assert.ok(bytesRead > 50 && tls === false);
});

test('a path cannot select a behaviour that starts before it is read, and TLS behaviours require https', async (t) => {
  const { url } = await start(t, '--script', 'tls-expired');
  assert.match(url, /^https:/);
  const open = await start(t);
  const early = 'starts before the path is known: select it with --script or --each';
  const errors: readonly (readonly [string, string])[] = [
    [url.replace('https:', 'http:'), 'tls-expired requires https'],
    [`${open.url}tls-expired`, `tls-expired ${early}`],
    [`${open.url}200,smtp`, `smtp ${early}`],
    [`${open.url}tls-ok`, 'tls-ok requires https'],
    [`${open.url}hangs`, 'unknown behaviour hangs (similar: hang'],
  ];
  for (const [address, error] of errors) {
    const response = await post(address);
    assert.equal(response.status, 404);
    assert.ok((await response.text()).startsWith(error), address);
  }
});

test('a sender that follows a redirect gets a 200, whatever the script, and the report shows it', async (t) => {
  const { url, lines } = await start(t, '--script', 'redirect-307');
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 200);
  const reports = [await nextJson(lines), await nextJson(lines)];
  assert.deepEqual(
    reports.map(({ behaviour, request }) => [behaviour, request.path]),
    [
      ['redirect-307', '/'],
      ['200', '/200?followed'],
    ],
  );
});

test('a port in use ends the program with one line, also after others were opened', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await run('--each', '--port', String(port - 3));
  assert.equal(code, 1);
  assert.match(stderr, /^--port: .*EADDRINUSE.*\n$/);
});

test('a script for the whole port ignores the path, and Ctrl-C ends the program with status 0', async (t) => {
  const { url, child } = await start(t, '--script', '418,200');
  assert.deepEqual(await statuses(`${url}anything`, 3), [418, 200, 418]);
  const exited = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await exited, [0, null]);
});

test('the same port accepts TLS, with a certificate of the authority in --ca-file', async (t) => {
  const caFile = join(createTemporaryFolder(t), 'ca.pem');
  const { url } = await start(t, '--ca-file', caFile);
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

test('control characters in a request are escaped in the output', async (t) => {
  const { url, lines } = await start(t);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.write('GET /200?\x1b[2J\x9b HTTP/1.1\r\n\r\n', 'latin1');
  socket.resume();
  const { value } = await lines.next();
  assert.doesNotMatch(value, /\p{Cc}/u);
  assert.equal(JSON.parse(value).request.path, '/200?\x1b[2J\x9b');
});

test('an invalid flag ends the program with one line that names it', async () => {
  const invalid: readonly (readonly [readonly string[], RegExp])[] = [
    [['--script', 'hangs'], /^--script: unknown behaviour hangs/],
    [['--port', '65536'], /^--port must be a number from 0 to 65535, not 65536/],
    [['--each', '--port', '65500'], /^--port must be a number from 0 to 65\d{3}, not 65500/],
    [['--deadline', 'soon'], /^--deadline must be a duration/],
    [['--pace', '0s'], /^--pace must be a duration/],
    [['--seed', '-1'], /^--seed must be an integer/],
    [['--host', '192.0.2.1', '--port', '0'], /^--host: .*EADDRNOTAVAIL/],
    [['--ca-file', '/nowhere/ca.pem', '--port', '0'], /^--ca-file: .*ENOENT/],
    [['--script', '200', '--each'], /cannot be used with/],
  ];
  const ended = await Promise.all(invalid.map(([flags]) => run(...flags)));
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, invalid[index]?.[1] ?? /$^/);
    assert.match(stderr, /^.*\n$/);
  }
});

test('the list contains every behaviour with the outcome for a sender', async () => {
  const listed: Json = JSON.parse((await run('--list', '--json')).stdout);
  assert.equal(listed.length, behaviours.length);
  assert.ok(listed.length >= 60);
  const outcomeOf = (slug: string) => listed.find((one: Json) => one.slug === slug).outcome;
  const outcomes = ['204', '401', 'slow-in-time', 'tls-ok'].map(outcomeOf);
  assert.deepEqual(outcomes, ['failed', 'ended', 'delivered', 'delivered']);
  const { stdout } = await run('--list');
  assert.match(stdout, /^ {2}hang-unread +failed +timeout +Accepts/m);
});

test('slugs are unique and valid in a path, and every description is a sentence', () => {
  assert.equal(new Set(behaviours.map(({ slug }) => slug)).size, behaviours.length);
  for (const { slug, description } of behaviours) {
    assert.match(slug, /^[a-z0-9][a-z0-9.-]+$/);
    assert.equal(encodeURIComponent(slug), slug);
    assert.match(description, /^[A-Z].*\.$/);
    assert.equal(findBehaviour(slug)?.slug, slug);
  }
});

test('every status from 200 to 599 is a behaviour', () => {
  assert.equal(findBehaviour('299')?.senderSees, 299);
  assert.equal(findBehaviour('600'), undefined);
});
