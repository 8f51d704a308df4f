import type { Bench } from './bench.ts';
import { arrive } from './rows/arrive.ts';
import { create, createHooked } from './rows/create.ts';
import { deliver } from './rows/deliver.ts';
import { fetchOne } from './rows/fetch.ts';
import { isolate } from './rows/isolate.ts';
import { list } from './rows/list.ts';
import { pending } from './rows/pending.ts';
import { processes } from './rows/processes.ts';
import { sideBySide } from './rows/side-by-side.ts';
import { start } from './rows/start.ts';
import { statements } from './rows/statements.ts';

/** The rows of the performance table, in order. */
export const benches: readonly Bench[] = [
  create,
  createHooked,
  fetchOne,
  list,
  deliver,
  arrive,
  isolate,
  statements,
  pending,
  start,
  processes,
  sideBySide,
];
