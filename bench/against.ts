import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { within } from '../test/harness/cleanup.ts';
import { calledService, type HotCall, hotCalls } from './hot-path.ts';
import { busy } from './load/busy.ts';
import { median, rounded } from './measured.ts';
import { type Contender, inRounds, seriesOf } from './rounds.ts';
import { databases, Stage } from './stage.ts';

// How this source compares with that of another commit, both measured in the same rounds: `npm run bench -- against HEAD~1`,
// and where not all of it is wanted, which calls, and on which database.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '2' } },
});
const [commit = 'HEAD', ...words] = positionals;
const wantedCalls = hotCalls.filter((call) => words.includes(call));
const wantedDatabases = databases.filter((database) => words.includes(database));
const calls = wantedCalls.length > 0 ? wantedCalls : hotCalls;
const on = wantedDatabases.length > 0 ? wantedDatabases : databases;
const roundMs = Number(values.seconds) * 1_000;
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Where the source of that commit begins, beside what it is run with. */
function mainOf(folder: string): string {
  const here = fileURLToPath(new URL('..', import.meta.url));
  const source = join(folder, 'source');
  mkdirSync(join(source, 'console'), { recursive: true });
  const packed = execFileSync('git', ['archive', commit, 'src', 'package.json'], { cwd: here, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', source], { input: packed });
  for (const path of ['node_modules', 'console/dist']) symlinkSync(join(here, path), join(source, path));
  return join(source, 'src/main.ts');
}

const nameOf = (side: 'now' | 'then', call: HotCall, database: string) => `${call} on ${database}, ${side}`;

await within(async (context) => {
  const stage = new Stage(context);
  const main = mainOf(stage.folder);
  const contenders: Contender[] = [];
  for (const database of on) {
    const [now, then] = [await calledService(stage, database), await calledService(stage, database, { main })];
    for (const call of calls) {
      contenders.push(busy(nameOf('now', call, database), now, now.calls[call], roundMs));
      contenders.push(busy(nameOf('then', call, database), then, then.calls[call], roundMs));
    }
  }
  await inRounds(contenders, 1, () => undefined);
  const series = await inRounds(contenders, Number(values.rounds), say);
  const roundsOf = (contender: string, unit: string) =>
    series.find(({ name }) => name === seriesOf(contender, unit))?.rounds ?? [];
  for (const database of on) {
    for (const call of calls) {
      for (const unit of ['/s', 'µs of processor a call']) {
        const before = roundsOf(nameOf('then', call, database), unit);
        const after = roundsOf(nameOf('now', call, database), unit);
        const ratios = after.map((value, round) => value / (before[round] ?? Number.NaN));
        const [least, most] = [rounded(Math.min(...ratios)), rounded(Math.max(...ratios))];
        say(
          `${call} on ${database}: ${rounded(median(before))} to ${rounded(median(after))} ${unit}, × ${rounded(median(ratios))} (${least} to ${most})`,
        );
      }
    }
  }
});
process.exit(0);
