import type { Store } from '../../../src/store/store.ts';
import type { TransferProgress } from '../../../src/transfer/progress.ts';
import { openStoreAt } from '../database/database.ts';
import { importFromFile } from './export-import.ts';

// Runs an import that kills its own process: after `killRowCount` rows of the stage `killStage`, or, if that stage is
// `a write`, in the write transaction with the number `killRowCount`, before the commit.
const [database = '', path = '', where, rows] = process.argv.slice(2);

let stage = '';
let done = 0;
const killWhenDue = () => {
  if (stage === where && done >= Number(rows)) process.kill(process.pid, 'SIGKILL');
};
const progress: TransferProgress = {
  begin(name) {
    stage = name;
    done = 0;
    killWhenDue();
  },
  advance(more) {
    done += more;
    killWhenDue();
  },
  end: () => undefined,
};
const store = await openStoreAt({ after: () => undefined }, database);
let writes = 0;
const intercepted: Store = {
  ...store,
  write: (work) =>
    store.write(async (tx) => {
      const value = await work(tx);
      writes += 1;
      if (where === 'a write' && writes === Number(rows)) process.kill(process.pid, 'SIGKILL');
      return value;
    }),
};
await importFromFile(intercepted, path, { progress, resume: true });
await store.close();
