import type { Progress } from '../../src/transfer/progress.ts';
import { openAt } from './database.ts';
import { imported } from './moved.ts';

// An import that kills its own process: at a stage, once so many rows of it are through.
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
await imported(store, path, { progress, resume: true });
await store.close();
