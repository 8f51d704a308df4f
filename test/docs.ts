import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DerivedDocument } from './documents/markdown.ts';
import { documentedRoutes } from './documents/routes.ts';
import { sdkFile } from './documents/sdk.ts';

// Writes all derived documents. With --check it writes nothing, prints each outdated document, and fails.
const root = fileURLToPath(new URL('..', import.meta.url));
// Derive the SDK first, because the sources of the other documents import it.
updateDocuments([sdkFile(documentedRoutes())]);
updateDocuments((await import('./documents/index.ts')).derivedDocuments());
if (!process.argv.includes('--check')) {
  // These reports are not committed, because they change with every test and measurement.
  const { conformanceReport } = await import('./documents/conformance.ts');
  const { reliabilityReport } = await import('./documents/reliability.ts');
  const { performanceReport } = await import('./documents/performance.ts');
  updateDocuments([
    { path: 'build/conformance.md', text: conformanceReport() },
    { path: 'build/reliability.md', text: reliabilityReport() },
    { path: 'build/performance.md', text: performanceReport() },
  ]);
}

function updateDocuments(documents: readonly DerivedDocument[]): void {
  for (const one of documents.filter((document) => readCurrentText(document) !== document.text)) {
    if (process.argv.includes('--check')) {
      process.stderr.write(`${one.path} is out of date: npm run docs\n`);
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(root + one.path), { recursive: true });
      writeFileSync(root + one.path, one.text);
      process.stdout.write(`written: ${one.path}\n`);
    }
  }
}

function readCurrentText({ path }: DerivedDocument): string | undefined {
  try {
    return readFileSync(root + path, 'utf8');
  } catch {
    return undefined;
  }
}
