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
import { consoleRows, publicRows } from '../kit/api/routes.ts';
import { asksOf, OPTIONS, type SdkCall, sdkCalls } from '../kit/api/sdk-calls.ts';
import { temporaryFolder } from '../kit/service/service.ts';
import { tsc } from '../toolbox.ts';
import { root, sourcesBelow } from './source.ts';

const controller = new AbortController();
const calls = await sdkCalls(controller.signal);
const published = Object.keys(new sdk.Carillon({ baseUrl: 'http://127.0.0.1', auth: () => ({}) }));
const isPublished = ({ method }: SdkCall) => published.some((resourceType) => method.startsWith(`${resourceType}.`));
const routesOf = (some: readonly SdkCall[]) => [...new Set(some.map(({ asks }) => asks))].sort();

test('C6 the SDK has the error codes of the problem table', () => {
  assert.deepEqual([...sdk.serviceCodes].sort(), Object.keys(problems).sort());
  const both = sdk.clientCodes.filter((code) => Object.hasOwn(problems, code));
  assert.deepEqual(both, []);
});

test('C11 the SDK has the seven kinds that hooks can subscribe to', () => {
  assert.deepEqual([...sdk.kinds].sort(), [...hookKinds].sort());
  assert.equal(sdk.kinds.length, 7);
});

test('X2 the receiver has the same page limits of the feed as the server', () => {
  assert.deepEqual([ENTRIES, LOOKED_AT], [MAX_RECORDS, MAX_PER_CALL]);
});

test('the methods of the SDK cover exactly the API routes, and those of the console client the console routes', () => {
  const wanted = publicRows.filter(({ aliasOf }) => aliasOf === undefined);
  assert.deepEqual(routesOf(calls.filter(isPublished)), wanted.map(asksOf).sort());
  assert.deepEqual(routesOf(calls.filter((call) => !isPublished(call))), consoleRows.map(asksOf).sort());
});

test('X4 X5 every method accepts a signal, every POST an idempotency key, every update of a record If-Match', () => {
  controller.abort();
  for (const { method, asks, headers, signal } of calls) {
    assert.ok(signal?.aborted, `${method} is aborted`);
    const row = [...publicRows, ...consoleRows].find((one) => asksOf(one) === asks);
    const [tag, word] = [headers.get('if-match'), headers.get('idempotency-key')];
    if (row?.method === 'POST') assert.equal(word, OPTIONS.idempotencyKey, method);
    if (row?.method !== 'GET' && row?.conditional) assert.equal(tag, OPTIONS.ifMatch, method);
  }
});

test('every field and method of the published types has a doc comment', () => {
  const undocumented = sourcesBelow('packages/sdk/src').flatMap(({ path, text }) =>
    undocumentedIn(text).map((name) => `${path}: ${name}`),
  );
  const [{ text: index } = { text: '' }] = sourcesBelow('packages/sdk/src').filter(
    ({ path }) => path === 'packages/sdk/src/index.ts',
  );
  const isExported = (name: string) => new RegExp(`\\b${/: (\w+)\./.exec(name)?.[1]}\\b`).test(index);
  assert.deepEqual(undocumented.filter(isExported), []);
  const sample = 'export type A = {\n  /** One. */\n  readonly a: string;\n  readonly b?: string;\n};\n';
  assert.deepEqual(undocumentedIn(sample), ['A.b']);
});

/** Fields and methods of exported types without a comment, as `Type.field`. */
function undocumentedIn(text: string): string[] {
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

test('the SDK compiles without the types of Node and of features newer than Node 20', (t) => {
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
  const unsupported = ['process.exit()', 'Buffer.alloc(1)', 'setImmediate(() => {})', 'Promise.withResolvers()'];
  writeFileSync(join(folder, 'strange.mts'), `${unsupported.join(';\n')};\nexport {};\n`);
  assert.equal(compiled(join(root, 'packages/sdk/src/index.ts'), join(root, 'packages/sdk/src/receiver/index.ts')), '');
  const refused = [...compiled(join(folder, 'strange.mts')).matchAll(/strange\.mts\((\d),/g)].map(([, line]) =>
    Number(line),
  );
  assert.deepEqual(refused, [1, 2, 3, 4]);
});

test('each package has the version and license of the service, and no install scripts', () => {
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
  // The same version as at the root, so that npm installs it once.
  assert.deepEqual(chaosReceiver.dependencies, { commander: service.dependencies.commander });
  assert.equal(chaosReceiver.engines.node, service.engines.node);
});
