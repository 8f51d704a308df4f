import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InvitedUser, SignInInput } from '../../packages/sdk/src/console.ts';
import * as sdk from '../../packages/sdk/src/index.ts';
import type { SignedInUser } from '../../packages/sdk/src/people.ts';
import { FEED_ENTRIES_PER_PAGE, MAX_SCANNED_PER_PAGE } from '../../packages/sdk/src/receiver/feed-pages.ts';
import * as receiver from '../../packages/sdk/src/receiver/index.ts';
import { hookKinds, occurrenceKinds } from '../../src/delivery/outbox/event-kinds.ts';
import { MAX_RECORDS_PER_PAGE } from '../../src/http/routes/pagination.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { problems } from '../../src/problems.ts';
import type { publicInvitationFields } from '../../src/resources/invitations/invitations.ts';
import { MAX_SCANNED_OCCURRENCES } from '../../src/resources/notifications/notifications.ts';
import type { signInInputFields, signInResponseFields } from '../../src/resources/sessions/sessions.ts';
import { tscPath } from '../install.ts';
import { apiRoutes, consoleOnlyRoutes } from '../kit/api/routes.ts';
import {
  OPTIONS,
  PRELUDE,
  recordSdkCalls,
  routeShapeOf,
  type SdkCall,
  type TypeAssertion,
  typeAssertionsOf,
} from '../kit/api/sdk-calls.ts';
import { createTemporaryFolder, type Json } from '../kit/service/service.ts';
import { root, sourcesBelow } from './source.ts';

const controller = new AbortController();
const calls = await recordSdkCalls(controller.signal);
const publishedResources = Object.keys(new sdk.Carillon({ baseUrl: 'http://127.0.0.1', auth: () => ({}) }));
const isPublished = ({ method }: SdkCall) =>
  publishedResources.some((resourceType) => method.startsWith(`${resourceType}.`));
const routeShapesOf = (some: readonly SdkCall[]) => [...new Set(some.map(({ routeShape }) => routeShape))].sort();

test('C6 the SDK has the error codes of the problem table', () => {
  assert.deepEqual([...sdk.serviceErrorCodes].sort(), Object.keys(problems).sort());
  const both = sdk.clientErrorCodes.filter((code) => Object.hasOwn(problems, code));
  assert.deepEqual(both, []);
});

test('C11 X2 the SDK has the seven kinds that hooks can subscribe to, and all kinds of the feed', () => {
  assert.deepEqual([...sdk.hookKinds].sort(), [...hookKinds].sort());
  assert.equal(sdk.hookKinds.length, 7);
  assert.deepEqual([...sdk.feedKinds].sort(), [...occurrenceKinds].sort());
});

test('X2 the receiver has the same page limits of the feed as the server', () => {
  assert.deepEqual([FEED_ENTRIES_PER_PAGE, MAX_SCANNED_PER_PAGE], [MAX_RECORDS_PER_PAGE, MAX_SCANNED_OCCURRENCES]);
});

test('the methods of the SDK cover exactly the API routes, and those of the console client the console routes', () => {
  const wanted = apiRoutes.filter(({ aliasOf }) => aliasOf === undefined);
  assert.deepEqual(routeShapesOf(calls.filter(isPublished)), wanted.map(routeShapeOf).sort());
  assert.deepEqual(
    routeShapesOf(calls.filter((call) => !isPublished(call))),
    consoleOnlyRoutes.map(routeShapeOf).sort(),
  );
});

test('X4 X5 every method accepts a signal, every POST an idempotency key, every update of a record If-Match', () => {
  controller.abort();
  for (const { method, routeShape, headers, signal } of calls) {
    assert.ok(signal?.aborted, `${method} is aborted`);
    const row = [...apiRoutes, ...consoleOnlyRoutes].find((one) => routeShapeOf(one) === routeShape);
    const [tag, word] = [headers.get('if-match'), headers.get('idempotency-key')];
    if (row?.method === 'POST') assert.equal(word, OPTIONS.idempotencyKey, method);
    if (row?.method !== 'GET' && row?.supportsPreconditions) assert.equal(tag, OPTIONS.ifMatch, method);
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

/** Returns the fields and methods of exported types that have no comment, as `Type.field`. */
function undocumentedIn(text: string): string[] {
  const types = text.matchAll(/^export (type|interface|class) (\w+).*[^;&\n]\n[\s\S]*?^ *\}.*;?$/gm);
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
    const folder = createTemporaryFolder(t);
    const project = {
      extends: join(root, 'packages/sdk/tsconfig.json'),
      compilerOptions: { noEmit: true, rootDir: '/' },
      include: files,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
    return spawnSync(tscPath, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' }).stdout;
  };
  const folder = createTemporaryFolder(t);
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
  // The package has the same version of commander as the root, so that npm installs it once.
  assert.deepEqual(chaosReceiver.dependencies, { commander: service.dependencies.commander });
  assert.equal(chaosReceiver.engines.node, service.engines.node);
});

const allRoutes = [...apiRoutes, ...consoleOnlyRoutes];

/**
 * Returns the descriptions of the type assertions that do not compile. Each list becomes a file of the same program.
 */
function failingAssertions(folder: string, ...lists: readonly (readonly TypeAssertion[])[]): string[][] {
  const head = `import type { CarillonConsole } from '${join(root, 'packages/sdk/src/console.ts')}';${PRELUDE}`;
  const first = head.split('\n').length;
  for (const [index, promises] of lists.entries()) {
    const lines = promises.map(({ type }, at) => `const p${at}: ${type} = true;`);
    writeFileSync(join(folder, `p${index}.ts`), `${head}${lines.join('\n')}\n`);
  }
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
    include: [],
    files: lists.map((_, index) => `p${index}.ts`),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  const { stdout } = spawnSync(tscPath, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8', cwd: folder });
  const faults = [...stdout.matchAll(/^(.*)\((\d+),\d+\): error/gm)].map(([, path = '', line]) => ({
    path,
    line: Number(line),
  }));
  assert.deepEqual(
    faults.filter(({ path }) => !/^p\d+\.ts$/.test(path)),
    [],
    'the SDK itself is well typed',
  );
  return lists.map((promises, index) => {
    const lines = faults.filter(({ path }) => path === `p${index}.ts`).map(({ line }) => line);
    return promises.filter((_, at) => lines.includes(first + at)).map(({ description }) => description);
  });
}

/** Returns the route definitions, with a change to the schemas of one route. */
function withChangedRoute(asks: string, change: (row: Json) => void): Route[] {
  return allRoutes.map((row) => {
    if (routeShapeOf(row) !== asks) return row;
    const { responseSchema, bodySchema, parameters } = row;
    const copy: Json = structuredClone({
      responseSchema,
      bodySchema,
      parameters: JSON.parse(JSON.stringify(parameters)),
    });
    change(copy);
    return { ...row, ...copy };
  });
}

test('the types of the SDK match the schemas of the service, for every argument and result', async (t) => {
  const calls = await recordSdkCalls();
  // Simulated schema changes, with the type assertions that must fail for each.
  const drifts: [Route[], string[]][] = [
    [
      withChangedRoute(
        'GET /events/{}',
        ({ responseSchema }) => delete responseSchema.properties.data.properties.user_id,
      ),
      ['events.get gives these fields'],
    ],
    [
      withChangedRoute('GET /tasks', ({ responseSchema }) =>
        responseSchema.properties.data.items.properties.active.enum.push('3'),
      ),
      ['tasks.list lists active', 'tasks.each gives active'],
    ],
    [
      withChangedRoute('POST /clients', ({ bodySchema }) => delete bodySchema.properties.notes),
      ['clients.create takes these fields'],
    ],
    [
      withChangedRoute('POST /tasks/{}', ({ bodySchema }) => bodySchema.required.push('color')),
      ['tasks.create takes color'],
    ],
    [
      withChangedRoute('PUT /projects/{}', ({ bodySchema }) => bodySchema.properties.price.type.pop()),
      ['projects.update takes price'],
    ],
    [
      withChangedRoute('GET /clients', ({ parameters }) => parameters.order.schema.enum.pop()),
      ['clients.list asks order', 'clients.each asks order'],
    ],
    [
      withChangedRoute('GET /notifications', ({ responseSchema }) => delete responseSchema.properties.next),
      ['notifications.list gives these fields'],
    ],
    [allRoutes.filter((row) => routeShapeOf(row) !== 'GET /company'), ['company.get reaches a row']],
  ];
  const promises = typeAssertionsOf(calls, allRoutes);
  assert.ok(promises.length > 500, String(promises.length));
  const [wrong, ...found] = failingAssertions(
    createTemporaryFolder(t),
    promises,
    ...drifts.map(([drifted]) => typeAssertionsOf(calls, drifted)),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    found,
    drifts.map(([, description]) => description),
  );
});

/** Type equality: the compiler rejects `true` for different types. */
type SameType<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

/** Type equality of the fields of the public routes, which have no route definitions. */
const fieldEquality: {
  invited: SameType<keyof InvitedUser, keyof typeof publicInvitationFields>;
  signIn: SameType<keyof SignInInput, keyof typeof signInInputFields>;
  signedIn: SameType<keyof SignedInUser, keyof typeof signInResponseFields>;
} = { invited: true, signIn: true, signedIn: true };

test('the types of the console client match the route fields, and the client is not part of the published SDK', () => {
  assert.ok(Object.values(fieldEquality).every((same) => same));
  assert.ok(!Object.keys(sdk).includes('CarillonConsole'));
});

const sources = sourcesBelow('packages/sdk/src');
/** The values that users of the SDK can import. */
const exportedNames = new Set([...Object.keys(sdk), ...Object.keys(receiver)]);

const DOC_COMMENT = '/\\*\\*(?:(?!\\*/)[^])*\\*/\\n';

/** Returns the exported functions and classes, and the methods of classes and interfaces, that have no `@example`. */
function withoutExample(text: string): readonly string[] {
  const named = [...text.matchAll(new RegExp(`^(${DOC_COMMENT})?export (?:function|class) (\\w+)`, 'gm'))]
    .filter(([, , name = '']) => exportedNames.has(name))
    .map(([, doc = '', name = '']) => [name, doc] as const);
  const methods = [...text.matchAll(/^export (?:class|interface) (\w+)[\s\S]*?^\}/gm)].flatMap(([body, owner]) =>
    [...body.matchAll(new RegExp(`^( {2}${DOC_COMMENT})? {2}(?:async )?(\\w+)\\(`, 'gm'))]
      .filter(([, , name]) => name !== 'constructor')
      .map(([, doc = '', name = '']) => [`${owner}.${name}`, doc] as const),
  );
  return [...named, ...methods].filter(([, doc]) => !doc.includes('@example')).map(([name]) => name);
}

test('every public function, class and method of the SDK has an example', () => {
  const sample =
    '/** A. */\nexport function apiKey() {}\nexport interface B {\n  /** C. */\n  c(): void;\n  d(): void;\n}\n';
  assert.deepEqual(withoutExample(sample), ['apiKey', 'B.c', 'B.d']);
  assert.deepEqual(
    sources.flatMap(({ path, text }) => withoutExample(text).map((name) => `${path}: ${name}`)),
    [],
  );
});

/** Declares the variables that examples use without defining them, and imports everything that the SDK exports. */
const examplePrelude = `
import { apiKey, Carillon, CarillonError, etagOf } from '${root}packages/sdk/src/index.ts';
import { createReceiver, fileState, memoryState, type Receiver } from '${root}packages/sdk/src/receiver/index.ts';
import { CarillonConsole } from '${root}packages/sdk/src/console.ts';
type Given = Record<
  'domain' | 'key' | 'email' | 'passphrase' | 'newPassphrase' | 'token' | 'ics' | 'cursor' | 'resourceUrl', string
> & {
  carillon: Carillon; console: CarillonConsole; receiver: Receiver;
  showEvent(name: string, start: string): void;
  processEntry(kind: string, resourceUrl: string): Promise<void>;
  saveCursor(cursor: string): Promise<void>;
};
`;
const GIVEN_NAMES =
  'domain, key, email, passphrase, newPassphrase, token, ics, cursor, resourceUrl, carillon, console, receiver, showEvent, processEntry, saveCursor';

/** Returns a program with the code of the examples, each in a block of its own. */
function exampleProgram(examples: readonly string[]): string {
  const imports = new Set(examples.flatMap((code) => code.match(/^import .*$/gm) ?? []));
  const blocks = examples.map(
    (code) => `async ({ ${GIVEN_NAMES} }: Given) => {{ ${code.replace(/^import .*$/gm, '')} }};`,
  );
  return [...imports, examplePrelude, ...blocks].join('\n');
}

test('the examples of the SDK fit its types', (t) => {
  const examples = sources.flatMap(({ text }) =>
    [...text.matchAll(/@example\n *\* ```ts\n([\s\S]*?)\n *\* ```/g)].map(([, code = '']) =>
      code.replace(/^ *\* ?/gm, ''),
    ),
  );
  assert.ok(examples.length > 30, `${examples.length} examples`);
  const folder = createTemporaryFolder(t);
  const compilerOptions = {
    noEmit: true,
    rootDir: '/',
    rewriteRelativeImportExtensions: false,
    types: ['node'],
    typeRoots: [join(root, 'test/node_modules/@types')],
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  const project = { extends: join(root, 'packages/sdk/tsconfig.json'), compilerOptions, include: ['*.mts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  writeFileSync(join(folder, 'examples.mts'), exampleProgram(examples));
  writeFileSync(join(folder, 'wrong.mts'), exampleProgram(["await carillon.events.get('7').event_name;"]));
  const { stdout } = spawnSync(tscPath, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
  const errors = stdout.trim().split('\n');
  assert.deepEqual(
    errors.filter((line) => !line.includes('wrong.mts')),
    [],
  );
  assert.match(errors.join('\n'), /wrong\.mts.*event_name/);
});
