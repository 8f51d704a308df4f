import assert from 'node:assert/strict';
import { openAt } from '../../../test/kit/database/database.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { type CachedCaller, CallerCache } from './caller-cache.ts';

const { test, database } = sqlite;

const visitor = (keyId: number) => ({ caller: { keyId }, lastUsed: 0 }) as CachedCaller;

/** A cache whose lookups are counted and resolved by the test. */
function asked() {
  const answers: PromiseWithResolvers<CachedCaller | undefined>[] = [];
  const ask = () => {
    const answer = Promise.withResolvers<CachedCaller | undefined>();
    answers.push(answer);
    return answer.promise;
  };
  return { answers, ask };
}

test('concurrent lookups of the same credentials share one query, and later ones need none', async (t) => {
  const known = new CallerCache(await openAt(t, await database(t)));
  const { answers, ask } = asked();
  const all = [known.find('shown', ask), known.find('shown', ask), known.find('other', ask)];
  assert.equal(answers.length, 2);
  const [one, two] = [visitor(1), visitor(2)];
  answers[0]?.resolve(one);
  answers[1]?.resolve(two);
  assert.deepEqual(await Promise.all(all), [one, one, two]);
  assert.equal(known.find('shown', ask), one);
  assert.equal(known.of(one.caller), one);
  assert.equal(answers.length, 2);
});

test('unknown callers and failed lookups are queried again', async (t) => {
  const known = new CallerCache(await openAt(t, await database(t)));
  const { answers, ask } = asked();
  const nobody = known.find('shown', ask);
  answers[0]?.resolve(undefined);
  assert.equal(await nobody, undefined);
  const broken = [known.find('shown', ask), known.find('shown', ask)];
  answers[1]?.reject(new Error('the database'));
  for (const one of broken) await assert.rejects(one as Promise<unknown>, /the database/);
  void known.find('shown', ask);
  assert.equal(answers.length, 3);
});

test('C1 a lookup after an access change queries again, even if an earlier one is in flight', async (t) => {
  const store = await openAt(t, await database(t));
  const known = new CallerCache(store);
  const { answers, ask } = asked();
  const before = known.find('shown', ask);
  await store.write(async (tx) => tx.news.addAccessChange());
  const after = known.find('shown', ask);
  assert.equal(answers.length, 2);
  const [old, fresh] = [visitor(1), visitor(2)];
  answers[0]?.resolve(old);
  assert.equal(await before, old);
  // A lookup after the change does not use the earlier one.
  assert.equal(known.of(old.caller), undefined);
  answers[1]?.resolve(fresh);
  assert.equal(await after, fresh);
  assert.equal(known.find('shown', ask), fresh);
});
