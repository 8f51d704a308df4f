import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Series } from '../bench.ts';
import { calledService, hotCalls } from '../hot-path.ts';
import { busy } from '../load/busy.ts';
import { moment } from '../measured.ts';
import { readProfile, type Stretch, sharesIn } from '../profile.ts';
import { seriesOf } from '../rounds.ts';
import { databases } from '../stage.ts';

/** How often is looked what is at work, microseconds. */
const LOOK_EVERY_US = 250;

export const where: Bench = {
  id: 'W',
  name: 'where',
  title: 'where the microseconds of a call go, by a profile of the service while 64 connections keep it busy',
  target: 'nothing: it says what to do next',
  async measure({ stage, roundMs, say }) {
    const series: Series[] = [];
    for (const database of databases) {
      const folder = join(stage.folder, `profile-${database}`);
      mkdirSync(folder);
      const options = { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${LOOK_EVERY_US}` };
      const service = await calledService(stage, database, { options });
      const looked: { call: string; stretch: Stretch; each: number }[] = [];
      for (const call of hotCalls) {
        const contender = busy(call, service, service.calls[call], roundMs);
        // Once without being counted: code is compiled, caches are filled.
        await contender.measure();
        const from = moment();
        const { 'µs of processor a call': each = Number.NaN } = await contender.measure();
        looked.push({ call, stretch: { from, until: moment() }, each });
      }
      await service.stop();
      const profile = readProfile(folder);
      for (const { call, stretch, each } of looked) {
        const unit = `µs of ${call} on ${database}`;
        say(`${call} on ${database}: ${Math.round(each)} µs`);
        for (const [area, share] of sharesIn(profile, stretch)) {
          say(`  ${area}: ${(share * each).toFixed(1)} µs, ${(share * 100).toFixed(1)} %`);
          series.push({ name: seriesOf(area, unit), side: 'ours', unit, rounds: [share * each] });
        }
      }
    }
    return { series, claims: [] };
  },
};
