import { importFromApi } from './import-from-api.ts';

// Runs an import that kills its own process in the stage `killStage`, after `killRowCount` rows.
const [optionsJson = '{}', killStage, killRowCount] = process.argv.slice(2);

let stage = '';
let doneRowCount = 0;
const killWhenDue = () => {
  if (stage === killStage && doneRowCount >= Number(killRowCount)) process.kill(process.pid, 'SIGKILL');
};
await importFromApi({
  ...JSON.parse(optionsJson),
  progress: {
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
  },
});
