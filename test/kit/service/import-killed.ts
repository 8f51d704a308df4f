import type { Store } from '../../../src/store/store.ts';
import type { TransferProgress } from '../../../src/transfer/operator-report.ts';
import { openStoreAt } from '../database/database.ts';
import { importFromFile } from './export-import.ts';

// Runs an import that kills its own process: after `killRowCount` rows of the stage `killStage`, or, if that stage is
// `a write`, in the write transaction with the number `killRowCount`, before the commit.
const [database = '', path = '', killStage, killRowCount] = process.argv.slice(2);

let stage = '';
let doneRowCount = 0;
const killWhenDue = () => {
  if (stage === killStage && doneRowCount >= Number(killRowCount)) process.kill(process.pid, 'SIGKILL');
};
const progress: TransferProgress = {
  begin(name) {
    stage = name;
    doneRowCount = 0;
    killWhenDue();
  },
  advance(addedRowCount) {
    doneRowCount += addedRowCount;
    killWhenDue();
  },
  end: () => undefined,
};
const store = await openStoreAt({ after: () => undefined }, database);
let writeCount = 0;
const killingStore: Store = {
  ...store,
  write: (work) =>
    store.write(async (tx) => {
      const value = await work(tx);
      writeCount += 1;
      if (killStage === 'a write' && writeCount === Number(killRowCount)) process.kill(process.pid, 'SIGKILL');
      return value;
    }),
};
await importFromFile(killingStore, path, { progress, resume: true });
await store.close();
