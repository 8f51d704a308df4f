import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockedIn, lockFolders, nameAt, shipped } from '../documents/shipped.ts';
import { billOfMaterials } from '../sbom.ts';
import { root } from './source.ts';

/** Permissive licenses. */
const PERMISSIVE = ['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'BlueOak-1.0.0'];

/** Unmodified dependencies may also have weak copyleft, which applies only to changed files. */
const SHIPPED_LICENSES = [...PERMISSIVE, 'MPL-2.0'];

/** Licenses accepted for tools, which are not distributed. */
const TOOL_LICENSES = [
  ...SHIPPED_LICENSES,
  'Python-2.0',
  'Unlicense',
  'Public Domain',
  'MIT OR Apache-2.0',
  '(AFL-2.1 OR BSD-3-Clause)',
  '(MIT AND BSD-3-Clause)',
];

/** Packages of integration platforms, under their own terms; used for tests only. */
const PLATFORM = /^(@n8n\/|@n8n_io\/|n8n-|zapier-platform-)/;

/** MIT packages whose license is missing in lockfiles. */
const LICENSE_MISSING_IN_LOCKFILE = new Set(['buildcheck', 'cpu-features', 'ssh2', 'urlsafe-base64']);

for (const folder of lockFolders) {
  const locked = [...lockedIn(folder)].map(([path, one]) => ({ ...one, path, name: nameAt(path) }));
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const named = (all: readonly { path: string }[]) => all.map(({ path }) => path);

  test(`${folder}: every package has an integrity hash and comes from the npm registry`, () => {
    assert.ok(locked.length > 20);
    assert.deepEqual(named(locked.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))), []);
    // Without `resolved` it comes from the registry.
    const elsewhere = locked.filter(
      ({ resolved = 'https://registry.npmjs.org/' }) => !resolved.startsWith('https://registry.npmjs.org/'),
    );
    assert.deepEqual(named(elsewhere), []);
    assert.deepEqual(named(locked.filter(({ version }) => !/^\d+\.\d+\.\d+/.test(version))), []);
  });

  test(`${folder}: only allowed packages have install scripts`, () => {
    const allowed = Object.keys(manifest.allowScripts).sort();
    const running = locked.filter(({ hasInstallScript }) => hasInstallScript);
    assert.ok(
      allowed.every((name) => running.some((one) => one.name === name)),
      'allowScripts has an unneeded entry',
    );
    if (folder === '.') assert.deepEqual([allowed, named(running)], [[], []]);
    assert.deepEqual(named(running.filter(({ dev }) => dev !== true)), []);
  });

  test(`${folder}: every license is on the list of accepted licenses`, () => {
    const unknown = locked.filter(
      ({ name, license = '' }) =>
        !TOOL_LICENSES.includes(license) && !PLATFORM.test(name) && !LICENSE_MISSING_IN_LOCKFILE.has(name),
    );
    assert.deepEqual(
      unknown.map(({ path, license }) => `${path}: ${license}`),
      [],
    );
  });
}

test('every shipped package has a license that allows redistribution', () => {
  const all = shipped();
  assert.deepEqual(
    all
      .filter(({ license = '' }) => !SHIPPED_LICENSES.includes(license))
      .map(({ name, license }) => `${name}: ${license}`),
    [],
  );
  for (const name of ['fastify', 'pg', 'undici', 'preact', '@event-calendar/build', '@preact/signals-core'])
    assert.ok(
      all.some((one) => one.name === name),
      name,
    );
  assert.ok(!all.some(({ name }) => ['vite', 'rolldown'].includes(name)), 'build tools are not shipped');
});

test('the bill of materials lists exactly the shipped packages, and is deterministic', () => {
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
