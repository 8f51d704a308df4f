import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root, sourcesBelow } from './source.ts';

/** Integrations, and the platform package that each may import. */
const packages = { n8n: 'n8n-workflow', zapier: 'zapier-platform-core' };

const manifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));

for (const [name, platform] of Object.entries(packages)) {
  const folder = `integrations/${name}`;
  const files = sourcesBelow(folder).filter(({ path }) => !path.startsWith(`${folder}/test/`));

  test(`${folder} imports only its platform package and its own files`, () => {
    assert.ok(files.length > 5);
    const outside = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => from !== platform && !from.startsWith(`${folder}/`))
        .map(({ from }) => `${path}: ${from}`),
    );
    assert.deepEqual(outside, []);
  });

  test(`${folder} sends requests only through its platform, does not use console, and suppresses no checks`, () => {
    const wrong = files.filter(
      ({ code, text }) =>
        /\bfetch\s*\(|\bconsole\s*[.[]/.test(code) ||
        /eslint-disable|biome-ignore|@ts-(?:ignore|expect-error)/.test(text),
    );
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    );
  });

  test(`${folder} has the version of the service, pinned dependencies and no install scripts`, () => {
    const { version, dependencies = {}, devDependencies = {}, scripts } = manifest(folder);
    assert.equal(version, manifest('.').version);
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, range]) => !/^\d/.test(`${range}`),
    );
    assert.deepEqual(loose, []);
    assert.deepEqual(
      Object.keys(scripts).filter((script) => /^(?:pre|post)|install|prepare/.test(script)),
      [],
    );
  });
}
