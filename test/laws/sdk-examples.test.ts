import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as sdk from '../../packages/sdk/src/index.ts';
import * as receiver from '../../packages/sdk/src/receiver/index.ts';
import { temporaryFolder } from '../kit/service/service.ts';
import { tsc } from '../toolbox.ts';
import { root, sourcesBelow } from './source.ts';

const sources = sourcesBelow('packages/sdk/src');
/** The values that users of the SDK can import. */
const exported = new Set([...Object.keys(sdk), ...Object.keys(receiver)]);

const DOC = '/\\*\\*(?:(?!\\*/)[^])*\\*/\\n';

/** The exported functions and classes, and the methods of classes and interfaces, that have no `@example`. */
function withoutExample(text: string): readonly string[] {
  const named = [...text.matchAll(new RegExp(`^(${DOC})?export (?:function|class) (\\w+)`, 'gm'))]
    .filter(([, , name = '']) => exported.has(name))
    .map(([, doc = '', name = '']) => [name, doc] as const);
  const methods = [...text.matchAll(/^export (?:class|interface) (\w+)[\s\S]*?^\}/gm)].flatMap(([body, owner]) =>
    [...body.matchAll(new RegExp(`^( {2}${DOC})? {2}(?:async )?(\\w+)\\(`, 'gm'))]
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

/** Declares the variables that examples use without defining them, and imports what the SDK exports. */
const prelude = `
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
const GIVEN =
  'domain, key, email, passphrase, newPassphrase, token, ics, cursor, resourceUrl, carillon, console, receiver, showEvent, processEntry, saveCursor';

/** The code of the examples, each in a block of its own. */
function program(examples: readonly string[]): string {
  const imports = new Set(examples.flatMap((code) => code.match(/^import .*$/gm) ?? []));
  const blocks = examples.map((code) => `async ({ ${GIVEN} }: Given) => {{ ${code.replace(/^import .*$/gm, '')} }};`);
  return [...imports, prelude, ...blocks].join('\n');
}

test('the examples of the SDK fit its types', (t) => {
  const examples = sources.flatMap(({ text }) =>
    [...text.matchAll(/@example\n *\* ```ts\n([\s\S]*?)\n *\* ```/g)].map(([, code = '']) =>
      code.replace(/^ *\* ?/gm, ''),
    ),
  );
  assert.ok(examples.length > 30, `${examples.length} examples`);
  const folder = temporaryFolder(t);
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
  writeFileSync(join(folder, 'examples.mts'), program(examples));
  writeFileSync(join(folder, 'wrong.mts'), program(["await carillon.events.get('7').event_name;"]));
  const { stdout } = spawnSync(tsc, ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
  const errors = stdout.trim().split('\n');
  assert.deepEqual(
    errors.filter((line) => !line.includes('wrong.mts')),
    [],
  );
  assert.match(errors.join('\n'), /wrong\.mts.*event_name/);
});
