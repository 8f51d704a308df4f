import { importFromApi } from './import-from-api.ts';

// Runs an import that kills its own process in the stage `killStage`, after `killRowCount` rows.
const [given = '{}', where, rows] = process.argv.slice(2);

let stage = '';
let done = 0;
const killWhenDue = () => {
  if (stage === where && done >= Number(rows)) process.kill(process.pid, 'SIGKILL');
};
await importFromApi({
  ...JSON.parse(given),
  progress: {
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
  },
});
