import { fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MeasurementEnvironment } from '../test/kit/surroundings.ts';
import type { Bench, RowMeasurements } from './bench.ts';
import { quantile } from './statistics.ts';

/** The stored result of a row, with the conditions of the run. */
export type StoredResult = RowMeasurements &
  MeasurementEnvironment & {
    readonly rounds: number;
    readonly roundMs: number;
    readonly seconds: number;
    /** Median time of an fdatasync of 4 KiB just before the row ran, in milliseconds. */
    readonly fsyncMs: number;
  };

const FLUSH_SAMPLES = 200;

const resultsFile = fileURLToPath(new URL('results.json', import.meta.url));

/** Reads all stored results, by the id of their row. */
const readResults = (): Readonly<Record<string, StoredResult>> => JSON.parse(readFileSync(resultsFile, 'utf8'));

export function storeResult({ id }: Pick<Bench, 'id'>, result: StoredResult): void {
  writeFileSync(resultsFile, `${JSON.stringify({ ...readResults(), [id]: result }, undefined, 2)}\n`);
}

/** Returns the stored result of a row, or undefined if the row has never been measured. */
export function resultOf({ id }: Pick<Bench, 'id'>): StoredResult | undefined {
  return readResults()[id];
}

/** Measures the median time of an fdatasync of 4 KiB in the folder of temporary files, in milliseconds. */
export function measureFsyncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
  try {
    const file = openSync(join(folder, 'flushed'), 'w');
    const page = Buffer.alloc(4_096, 1);
    const times: number[] = [];
    for (let count = 0; count < FLUSH_SAMPLES; count += 1) {
      const startedAt = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      times.push(performance.now() - startedAt);
    }
    return quantile(times, 0.5);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
