import type { Store } from '../../src/store/store.ts';
import type { Progress } from '../../src/transfer/progress.ts';
import { openAt } from './database.ts';
import { imported } from './export-import.ts';

// An import that kills its own process: at a stage, once so many rows of it are through; or in the middle of a write,
// the one with that number, before it is committed.
const [database = '', path = '', where, rows] = process.argv.slice(2);

let stage = '';
let done = 0;
const dieWhenDue = () => {
  if (stage === where && done >= Number(rows)) process.kill(process.pid, 'SIGKILL');
};
const progress: Progress = {
  begin(name) {
    stage = name;
    done = 0;
    dieWhenDue();
  },
  advance(more) {
    done += more;
    dieWhenDue();
  },
  end: () => undefined,
};
const store = await openAt({ after: () => undefined }, database);
let writes = 0;
const watched: Store = {
  ...store,
  write: (work) =>
    store.write(async (tx) => {
      const value = await work(tx);
      writes += 1;
      if (where === 'a write' && writes === Number(rows)) process.kill(process.pid, 'SIGKILL');
      return value;
    }),
};
await imported(watched, path, { progress, resume: true });
await store.close();
