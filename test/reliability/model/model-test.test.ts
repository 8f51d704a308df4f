import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse } from '../../kit/service/service.ts';
import { sqlite, type TestStore } from '../../kit/service/stores.ts';
import { model } from './model-test.ts';

/** A store whose service falsifies responses. */
const falsifyingStore = (falsify: (answer: ApiResponse, path: string) => ApiResponse): TestStore => ({
  ...sqlite,
  async testService(context, setup) {
    const carillon = await sqlite.testService(context, setup);
    const call: typeof carillon.call = async (who, method, path, ...more) =>
      falsify(await carillon.call(who, method, path, ...more), path);
    return { ...carillon, call };
  },
});

const falsifications: Record<string, (answer: ApiResponse, path: string) => ApiResponse> = {
  'a list in another order': (answer, path) =>
    path.startsWith('/v2/subtasks?') && answer.status === 200
      ? { ...answer, json: { ...answer.json, data: answer.json.data.toReversed() } }
      : answer,
  'a rejection with another code': (answer) =>
    answer.status === 412 ? { ...answer, json: { ...answer.json, code: 'not_found' } } : answer,
};

for (const [name, falsify] of Object.entries(falsifications)) {
  test(`the model finds ${name}, and prints the calls before it and how to repeat them`, async (t) => {
    const run = { count: 60, seed: 1, stores: [falsifyingStore(falsify)], context: t, log: () => undefined };
    const { broken } = await model.execute(run);
    assert.equal(broken.length, 1);
    assert.match(broken[0] ?? '', /\nafter [\s\S]+\nagain: RUN=[\d:]+ REPLAY=\S+ npm run prove -- model --seed 1$/);
  });
}
