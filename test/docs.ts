import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Derived, derivedDocuments } from './documents/index.ts';

// Writes every derived document; with --check writes nothing and fails, naming each that is out of date.
const root = fileURLToPath(new URL('..', import.meta.url));
const outdated = derivedDocuments().filter((one) => textAt(one) !== one.text);

if (process.argv.includes('--check')) {
  for (const { path } of outdated) process.stderr.write(`${path} is out of date: npm run docs\n`);
  process.exitCode = outdated.length > 0 ? 1 : 0;
} else {
  for (const { path, text } of outdated) {
    mkdirSync(dirname(root + path), { recursive: true });
    writeFileSync(root + path, text);
    process.stdout.write(`written: ${path}\n`);
  }
}

function textAt({ path }: Derived): string | undefined {
  try {
    return readFileSync(root + path, 'utf8');
  } catch {
    return undefined;
  }
}
