import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockedIn, lockFolders, nameAt, shipped } from '../documents/shipped.ts';
import { billOfMaterials } from '../sbom.ts';
import { root } from './source.ts';

/** Licences under which anybody may use, change and pass on what they were given, also inside something else. */
const FREE = ['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0'];

/** What is shipped as it came may be under this one, too: whoever changes one of its files passes that file on. */
const FREE_UNCHANGED = [...FREE, 'MPL-2.0'];

/** Those of tools as well: they run here and go nowhere. */
const FREE_FOR_TOOLS = [
  ...FREE_UNCHANGED,
  'Python-2.0',
  'Unlicense',
  'Public Domain',
  'MIT OR Apache-2.0',
  '(AFL-2.1 OR BSD-3-Clause)',
  '(MIT AND BSD-3-Clause)',
];

/** Packages of platforms that an integration is made for and tried against, under terms of their own. */
const PLATFORM = /^(@n8n\/|@n8n_io\/|n8n-|zapier-platform-)/;

/** Packages that name their licence (MIT) where lockfiles do not look. */
const SAID_ELSEWHERE = new Set(['buildcheck', 'cpu-features', 'ssh2', 'urlsafe-base64']);

for (const folder of lockFolders) {
  const locked = [...lockedIn(folder)].map(([path, one]) => ({ ...one, path, name: nameAt(path) }));
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const named = (all: readonly { path: string }[]) => all.map(({ path }) => path);

  test(`${folder}: every package is known by its bytes, and comes from the registry`, () => {
    assert.ok(locked.length > 20);
    assert.deepEqual(named(locked.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))), []);
    // Without an address it is the registry's.
    const elsewhere = locked.filter(
      ({ resolved = 'https://registry.npmjs.org/' }) => !resolved.startsWith('https://registry.npmjs.org/'),
    );
    assert.deepEqual(named(elsewhere), []);
    assert.deepEqual(named(locked.filter(({ version }) => !/^\d+\.\d+\.\d+/.test(version))), []);
  });

  test(`${folder}: nothing is run when it is installed, but what is allowed by name`, () => {
    const allowed = Object.keys(manifest.allowScripts).sort();
    const running = locked.filter(({ hasInstallScript }) => hasInstallScript);
    assert.ok(
      allowed.every((name) => running.some((one) => one.name === name)),
      'an allowance that nothing needs',
    );
    if (folder === '.') assert.deepEqual([allowed, named(running)], [[], []]);
    assert.deepEqual(named(running.filter(({ dev }) => dev !== true)), []);
  });

  test(`${folder}: every licence is one that was looked at`, () => {
    const unknown = locked.filter(
      ({ name, license = '' }) =>
        !FREE_FOR_TOOLS.includes(license) && !PLATFORM.test(name) && !SAID_ELSEWHERE.has(name),
    );
    assert.deepEqual(
      unknown.map(({ path, license }) => `${path}: ${license}`),
      [],
    );
  });
}

test('what is shipped may be passed on by whoever was given it', () => {
  const all = shipped();
  assert.deepEqual(
    all
      .filter(({ license = '' }) => !FREE_UNCHANGED.includes(license))
      .map(({ name, license }) => `${name}: ${license}`),
    [],
  );
  for (const name of ['fastify', 'pg', 'undici', 'preact', '@event-calendar/build', '@preact/signals-core'])
    assert.ok(
      all.some((one) => one.name === name),
      name,
    );
  assert.ok(!all.some(({ name }) => ['vite', 'rolldown'].includes(name)), 'what builds is not shipped');
});

test('the bill of materials lists what is shipped, and is the same for the same lockfile', () => {
  const text = billOfMaterials();
  const bom = JSON.parse(text);
  assert.deepEqual([bom.bomFormat, bom.metadata.component.name], ['CycloneDX', 'carillon']);
  const listed: string[] = bom.components.map((one: { name: string; version: string }) => `${one.name}@${one.version}`);
  assert.deepEqual(
    listed.sort(),
    shipped()
      .map(({ name, version }) => `${name}@${version}`)
      .sort(),
  );
  assert.equal(billOfMaterials(), text);
});
