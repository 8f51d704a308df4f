import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '../kit/eventually.ts';
import { startTarget } from '../kit/network/target.ts';
import { sqlite } from '../kit/service/stores.ts';
import { root } from './source.ts';

/** Maximum number of files in the table of ARCHITECTURE.md, "The path of a write". */
const MAX_STEPS = 30;

/** Maximum number of files of `src` that run for one write, from the socket to the stored result of its webhook. */
const MAX_FILES = 76;

const MEASURED_WRITES = 5;

const sourceUrl = pathToFileURL(join(root, 'src/')).href;

/** Counts the calls of each function in this process, and returns the files with calls since the last time. */
class CalledFiles {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  take(): string[] {
    const files: string[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      if (error) throw error;
      for (const { url, functions } of coverage.result)
        if (url.startsWith(sourceUrl) && functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
          files.push(`src/${url.slice(sourceUrl.length)}`);
    });
    return files;
  }

  stop(): void {
    this.#session.disconnect();
  }
}

/** Returns the files in the rows of the table, in their order. */
function filesOfTable(): string[] {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const section = text.slice(text.indexOf('## The path of a write'), text.indexOf('## Folders'));
  return [...section.matchAll(/^\| `(src\/[\w/-]+\.ts)`/gm)].map(([, path = '']) => path);
}

sqlite.test('the path of a write visits few files, and those of ARCHITECTURE.md, each once', async (t) => {
  const steps = filesOfTable();
  assert.ok(steps.length > 20 && steps.length <= MAX_STEPS, `${steps.length} files`);
  assert.deepEqual(steps, [...new Set(steps)]);

  const carillon = await sqlite.testService(t);
  const owner = await carillon.createAccount('walk.test');
  const target = await startTarget(t);
  await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
  let writeCount = 0;
  const writeEvent = async () => {
    const body = { event_name: 'Walk', start_date: '20270101', due_date: '20270102' };
    assert.equal((await carillon.call(owner, 'POST', '/v2/events', body)).status, 201);
    writeCount += 1;
    const finalized = carillon.store.read.selectFrom('finalized_deliveries').select('delivery_id');
    await eventually(
      () => finalized.execute(),
      (rows) => rows.length === writeCount,
    );
  };
  const calledFiles = new CalledFiles();
  t.after(() => calledFiles.stop());
  // The first write looks up the caller, claims the hook and dials its target.
  await writeEvent();
  const firstFiles = calledFiles.take();
  assert.deepEqual(
    steps.filter((path) => !firstFiles.includes(path)),
    [],
  );

  // Timers run other files in some of the writes, but not in all of them.
  let filesOfEachWrite: readonly string[] | undefined;
  for (let index = 0; index < MEASURED_WRITES; index += 1) {
    await writeEvent();
    const files = calledFiles.take();
    filesOfEachWrite = filesOfEachWrite?.filter((path) => files.includes(path)) ?? files;
  }
  const files = filesOfEachWrite ?? [];
  assert.ok(files.length > steps.length && files.length <= MAX_FILES, `${files.length} files run: ${files.join(' ')}`);
});
