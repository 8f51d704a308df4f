import { move } from './import-from-api.ts';

// A move that kills its own process at a stage, once so many rows of it are through.
const [given = '{}', where, rows] = process.argv.slice(2);

let stage = '';
let done = 0;
const dieWhenDue = () => {
  if (stage === where && done >= Number(rows)) process.kill(process.pid, 'SIGKILL');
};
await move({
  ...JSON.parse(given),
  progress: {
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
  },
});
