import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as sdk from '../../packages/sdk/src/index.ts';
import { ENTRIES, LOOKED_AT } from '../../packages/sdk/src/receiver/feed-pages.ts';
import { hookKinds } from '../../src/delivery/outbox/event-kinds.ts';
import { MAX_RECORDS } from '../../src/http/routes/pagination.ts';
import { problems } from '../../src/problems.ts';
import { MAX_PER_CALL } from '../../src/resources/notifications/notifications.ts';
import { consoleRows, publicRows } from '../kit/rows.ts';
import { asksOf, OPTIONS, type SdkCall, sdkCalls } from '../kit/sdk-calls.ts';
import { temporaryFolder } from '../kit/service.ts';
import { tsc } from '../toolbox.ts';
import { root, sourcesBelow } from './source.ts';

const leaving = new AbortController();
const calls = await sdkCalls(leaving.signal);
const published = Object.keys(new sdk.Carillon({ baseUrl: 'http://127.0.0.1', auth: () => ({}) }));
const isPublished = ({ method }: SdkCall) => published.some((resourceType) => method.startsWith(`${resourceType}.`));
const asked = (some: readonly SdkCall[]) => [...new Set(some.map(({ asks }) => asks))].sort();

test('C6 the codes of the SDK are those of the table of problems', () => {
  assert.deepEqual([...sdk.serviceCodes].sort(), Object.keys(problems).sort());
  const both = sdk.clientCodes.filter((code) => Object.hasOwn(problems, code));
  assert.deepEqual(both, []);
});

test('C11 the kinds of the SDK are those that a hook can name: the seven', () => {
  assert.deepEqual([...sdk.kinds].sort(), [...hookKinds].sort());
  assert.equal(sdk.kinds.length, 7);
});

test('X2 a receiver knows the end of the feed by what one answer can hold: where that is changed, it has to know', () => {
  assert.deepEqual([ENTRIES, LOOKED_AT], [MAX_RECORDS, MAX_PER_CALL]);
});

test('the methods of the SDK reach every route, and nothing that is none; those for the console what is behind its door', () => {
  const wanted = publicRows.filter(({ aliasOf }) => aliasOf === undefined);
  assert.deepEqual(asked(calls.filter(isPublished)), wanted.map(asksOf).sort());
  assert.deepEqual(asked(calls.filter((call) => !isPublished(call))), consoleRows.map(asksOf).sort());
});

test('X4 X5 every method takes a signal, every POST a word of its own, and every change of one record a condition', () => {
  leaving.abort();
  for (const { method, asks, headers, signal } of calls) {
    assert.ok(signal?.aborted, `${method} is aborted`);
    const row = [...publicRows, ...consoleRows].find((one) => asksOf(one) === asks);
    const [tag, word] = [headers.get('if-match'), headers.get('idempotency-key')];
    if (row?.method === 'POST') assert.equal(word, OPTIONS.idempotencyKey, method);
    if (row?.method !== 'GET' && row?.conditional) assert.equal(tag, OPTIONS.ifMatch, method);
  }
});

test('every field and method of the published types says what it is, where a reader points at it', () => {
  const silent = sourcesBelow('packages/sdk/src').flatMap(({ path, text }) =>
    silentIn(text).map((name) => `${path}: ${name}`),
  );
  const [{ text: index } = { text: '' }] = sourcesBelow('packages/sdk/src').filter(
    ({ path }) => path === 'packages/sdk/src/index.ts',
  );
  const isExported = (name: string) => new RegExp(`\\b${/: (\w+)\./.exec(name)?.[1]}\\b`).test(index);
  assert.deepEqual(silent.filter(isExported), []);
  const sample = 'export type A = {\n  /** One. */\n  readonly a: string;\n  readonly b?: string;\n};\n';
  assert.deepEqual(silentIn(sample), ['A.b']);
});

/** The fields and methods of exported types that no comment stands above, as `Type.field`. */
function silentIn(text: string): string[] {
  const types = text.matchAll(/^export (type|interface|class) (\w+).*[^;\n]\n[\s\S]*?^ *\}.*;?$/gm);
  return [...types].flatMap(([body, sort, type]) => {
    const field =
      sort === 'class'
        ? /(\*\/)?\n {2}(?:readonly )?(\w+)(?:: |\()/g
        : /(\*\/)?\n {2,6}(?:readonly )?(\w+)(?:\??: |\()/g;
    const named = [...body.matchAll(field)].filter(
      ([, comment, name]) => comment === undefined && name !== 'constructor',
    );
    return named.map(([, , name]) => `${type}.${name}`);
  });
}

test('the SDK takes nothing of Node, and nothing that Node 20 does not have: it is compiled without either', (t) => {
  const compiled = (...files: string[]) => {
    const folder = temporaryFolder(t);
    const project = {
      extends: join(root, 'packages/sdk/tsconfig.json'),
      compilerOptions: { noEmit: true, rootDir: '/' },
      include: files,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
    return spawnSync(tsc, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' }).stdout;
  };
  const folder = temporaryFolder(t);
  const strange = ['process.exit()', 'Buffer.alloc(1)', 'setImmediate(() => {})', 'Promise.withResolvers()'];
  writeFileSync(join(folder, 'strange.mts'), `${strange.join(';\n')};\nexport {};\n`);
  assert.equal(compiled(join(root, 'packages/sdk/src/index.ts'), join(root, 'packages/sdk/src/receiver/index.ts')), '');
  const refused = [...compiled(join(folder, 'strange.mts')).matchAll(/strange\.mts\((\d),/g)].map(([, line]) =>
    Number(line),
  );
  assert.deepEqual(refused, [1, 2, 3, 4]);
});

test('each package has the version and licence of the service, and runs nothing when it is installed', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const [service, sdkManifest, chaosReceiver] = ['.', 'packages/sdk', 'packages/chaos-receiver'].map((folder) =>
    read(`${folder}/package.json`),
  );
  for (const manifest of [sdkManifest, chaosReceiver]) {
    assert.deepEqual([manifest.version, manifest.license], [service.version, service.license]);
    assert.deepEqual(manifest.publishConfig, { access: 'public' });
    assert.deepEqual(Object.keys(manifest.scripts), ['build', 'prepack']);
  }
  for (const needed of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    assert.equal(sdkManifest[needed], undefined, needed);
  // One version of it is installed at the root.
  assert.deepEqual(chaosReceiver.dependencies, { commander: service.dependencies.commander });
  assert.equal(chaosReceiver.engines.node, service.engines.node);
});
