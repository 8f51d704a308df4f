import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { tscPath } from '../install.ts';
import { packPackage } from '../kit/service/packages.ts';
import { createTemporaryFolder, type Json } from '../kit/service/service.ts';
import { sqlite } from '../kit/service/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const folder = createTemporaryFolder({ after });

/** The SDK is packed, and installed into an empty folder without a registry. */
const { tarball, paths } = await packPackage(join(root, 'packages/sdk'), folder);
const installFolder = join(folder, 'newcomer');
mkdirSync(installFolder);
writeFileSync(join(installFolder, 'package.json'), '{"name":"newcomer","private":true,"type":"module"}');
await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: installFolder });

/** Returns the oldest installed Node that the SDK supports; if there is none, the Node that runs this test. */
function oldestNode(): string {
  const versionOf = (node: string) =>
    execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1).split('.').map(Number);
  const found = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'].map((one) =>
    join(one, 'node'),
  );
  const supported = [process.execPath, ...new Set(found.filter((node) => existsSync(node)))]
    .map((node) => ({ node, version: versionOf(node) }))
    .filter(({ version: [major = 0, minor = 0] }) => major > 20 || (major === 20 && minor >= 3))
    .sort((one, other) => (one.version[0] ?? 0) - (other.version[0] ?? 0));
  return supported[0]?.node ?? process.execPath;
}

test('the SDK package contains its two entry points and nothing of the console, the service or the tests', () => {
  for (const entry of ['dist/index', 'dist/receiver/index'])
    assert.ok(paths.includes(`${entry}.js`) && paths.includes(`${entry}.d.ts`), entry);
  for (const path of ['package.json', 'README.md', 'LICENSE']) assert.ok(paths.includes(path), path);
  const unexpected = paths.filter(
    (path) => !/^dist\/(receiver\/)?[\w-]+\.(js|d\.ts)$|^(package\.json|README\.md|LICENSE)$/.test(path),
  );
  assert.deepEqual(unexpected, []);
  assert.deepEqual(
    paths.filter((path) => /test|console|overview|passphrase|sessions/.test(path)),
    [],
  );
  assert.ok(!existsSync(join(installFolder, 'node_modules/.bin')));
});

/** Joins the code blocks of docs/sdk.md to one program, with these values assigned in its first lines. */
function documentedProgram(values: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(root, 'docs/sdk.md'), 'utf8');
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  assert.ok(blocks.length > 5);
  let program = blocks.join('\n');
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^const ${name} = .*$`, 'm');
    assert.match(program, line);
    program = program.replace(line, () => `const ${name} = ${JSON.stringify(value)};`);
  }
  return program;
}

/** Compiles the folder as a user of the package would, with browser types only. */
async function compileAsUser(options: Json): Promise<string> {
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.asynciterable'],
    types: [],
    ...strict,
    ...options,
  };
  writeFileSync(join(installFolder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const { stdout } = await run(tscPath, ['-p', installFolder, '--pretty', 'false']).catch((error: Json) => error);
  return stdout;
}

test('docs/sdk.md is one program: it compiles against the installed package and runs on the oldest installed Node', async (t) => {
  const service = await sqlite.testService(t);
  const { domain, key } = await service.createAccount('acme.test');
  writeFileSync(join(installFolder, 'page.ts'), documentedProgram({ baseUrl: service.baseUrl, domain, key }));
  writeFileSync(
    join(installFolder, 'receive.ts'),
    "import * as kit from '@carillon/sdk/receive';\nexport default Object.keys(kit);\n",
  );
  assert.equal(await compileAsUser({ module: 'preserve', moduleResolution: 'bundler', noEmit: true }), '');
  assert.equal(await compileAsUser({ module: 'nodenext', moduleResolution: 'nodenext' }), '');
  const node = oldestNode();
  t.diagnostic(`on Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);
  const { stdout, stderr } = await run(node, ['page.js'], { cwd: installFolder });
  assert.equal(stderr, '');
  assert.deepEqual(stdout.trim().split('\n'), [
    'completed Pack of 1',
    'deleted Pack',
    'refused event_name must be a text of 1 to 255 characters',
    'refused start_date must be a real calendar day written yyyymmdd (or YYYY-MM-DD HH:MM:SS)',
    'somebody was faster: Paid twice',
    'told deleted_event true',
    'notified of Move',
  ]);
  const { stdout: kit } = await run(
    node,
    ['-e', "import('./receive.js').then(({ default: names }) => console.log(names.join()))"],
    { cwd: installFolder },
  );
  assert.match(kit, /\bcreateReceiver\b/);
});

test('a switch over the error codes can be exhaustive, and an incomplete one does not compile', async () => {
  const { serviceErrorCodes, clientErrorCodes } = await import(
    join(installFolder, 'node_modules/@carillon/sdk/dist/index.js')
  );
  const codes: string[] = [...serviceErrorCodes, ...clientErrorCodes];
  const switchOver = (some: readonly string[]) => `import type { ProblemCode } from '@carillon/sdk';
export function say(code: ProblemCode): string {
  switch (code) {
${some.map((code) => `    case '${code}':`).join('\n')}
      return code;
  }
}
`;
  writeFileSync(join(installFolder, 'page.ts'), switchOver(codes));
  const options = { module: 'nodenext', moduleResolution: 'nodenext', noEmit: true };
  assert.equal(await compileAsUser(options), '');
  writeFileSync(join(installFolder, 'page.ts'), switchOver(codes.slice(1)));
  assert.match(await compileAsUser(options), /page\.ts\(2,\d+\): error TS2366/);
});

test('the minified and gzipped SDK is as small as docs/sdk.md states', async (t) => {
  const [, documentedKb] =
    /less than (\d+) kB, minified\s+and\s+gzipped/.exec(readFileSync(join(root, 'docs/sdk.md'), 'utf8')) ?? [];
  const input = join(installFolder, 'node_modules/@carillon/sdk/dist/index.js');
  const built: Json = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, modulePreload: false, rolldownOptions: { input, preserveEntrySignatures: 'strict' } },
  });
  const { code } = built.output[0];
  assert.match(code, /export\s*\{[^}]*\bas Carillon\b/);
  const bytes = gzipSync(code, { level: 9 }).length;
  t.diagnostic(`${code.length} bytes minified, ${bytes} gzipped`);
  assert.ok(bytes < Number(documentedKb) * 1_000, `${bytes} bytes`);
});
