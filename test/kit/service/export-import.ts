import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import type { Store } from '../../../src/store/store.ts';
import { exportTo } from '../../../src/transfer/export.ts';
import type { ExportTotals } from '../../../src/transfer/format.ts';
import { importExportFile } from '../../../src/transfer/import.ts';
import type { TransferProgress } from '../../../src/transfer/operator-report.ts';

export const silentProgress: TransferProgress = {
  begin: () => undefined,
  advance: () => undefined,
  end: () => undefined,
};

/** Writes an export to a file and returns its end record. */
export async function exportToFile(store: Store, path: string, domain: string | null = null): Promise<ExportTotals> {
  let text = '';
  const sink = {
    write: async (chunk: string) => {
      text += chunk;
    },
  };
  const endRecord = await exportTo(sink, { store, domain, clock: systemClock, progress: silentProgress });
  writeFileSync(path, text);
  return endRecord;
}

export async function importFromFile(
  store: Store,
  path: string,
  options: { resume?: boolean; progress?: TransferProgress } = {},
) {
  const { resume = false, progress = silentProgress } = options;
  return importExportFile({ store, path, clock: systemClock, progress, mayResume: resume, rowsPerCommit: 3 });
}

/** Returns the lines of a file, without line feeds. */
export function readLines(path: string): string[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n');
}

/**
 * Starts or resumes an import in a child process that kills itself with SIGKILL: after `rowCount` rows of a stage, or,
 * if the stage is `a write`, in the write transaction with the number `rowCount`. Returns the signal that ended the
 * process.
 */
export async function runKilledImport(
  database: string,
  path: string,
  stage: string,
  rowCount: number,
): Promise<string | null> {
  const script = fileURLToPath(new URL('./import-killed.ts', import.meta.url));
  const child = spawn(process.execPath, [script, database, path, stage, String(rowCount)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [, signal] = await once(child, 'exit');
  return signal;
}
