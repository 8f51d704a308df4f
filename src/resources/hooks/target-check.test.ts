import assert from 'node:assert/strict';
import { after } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import type { ResolveName } from '../../delivery/transport/dns-resolver.ts';

for (const { test, testService } of stores) {
  const ADDRESSES: Readonly<Record<string, string>> = { 'public.test': '93.184.215.14', 'inside.test': '10.1.2.3' };
  const named = Promise.withResolvers<{ addresses: string[] }>();
  let waiting = 0;
  const resolve: ResolveName = async (name) => {
    if (name === 'slow.test') {
      waiting += 1;
      return named.promise;
    }
    const address = ADDRESSES[name];
    if (address !== undefined) return { addresses: [address] };
    return { failure: name === 'silent.test' ? 'resolver_silent' : 'no_such_name' };
  };
  const carillon = await testService({ after }, { deps: { resolve } });

  const verdictOf = async (who: ApiUser) => (await carillon.signIn(who)).console.checkTarget;

  test('C11 the target check predicts the result of a subscription and reveals no address', async () => {
    const owner = await carillon.createAccount('words.test');
    const verdict = await verdictOf(owner);
    const judged = async (text: string) => {
      const { verdict: word, message } = await verdict(text);
      assert.doesNotMatch(message, /\d+\.\d+|test/, text);
      return [word, message];
    };
    assert.deepEqual(await judged('https://public.test/in'), ['allowed', 'may be notified']);
    assert.equal((await judged('https://nobody.test/in'))[0], 'unresolved');
    assert.equal((await judged('https://silent.test/in'))[0], 'unresolved');
    for (const inside of ['http://inside.test/', 'http://169.254.169.254/latest', 'http://[::ffff:10.0.0.1]/']) {
      assert.deepEqual(await judged(inside), ['forbidden', 'leads to a forbidden address'], inside);
    }
    for (const half of ['', 'h', 'https://', 'ftp://public.test/', 'https://user@public.test/', 'x'.repeat(2_049)]) {
      const [word, says] = await judged(half);
      assert.equal(word, 'malformed', half);
      assert.match(says ?? '', /^must /, half);
    }
  });

  test('C12 the target of any live hook is taken, in every spelling, and free again after its end', async () => {
    const owner = await carillon.createAccount('taken.test');
    const verdict = await verdictOf(await carillon.createAccount('taken-too.test'));
    const target = 'https://public.test/taken';
    const { id } = await owner.carillon.hooks.create({ target_url: target, event: 'new_event' });
    assert.equal((await verdict(target)).verdict, 'taken');
    assert.equal((await verdict('HTTPS://PUBLIC.test:443/a/../taken#part')).verdict, 'taken');
    await owner.carillon.hooks.delete(id);
    assert.equal((await verdict(target)).verdict, 'allowed');
  });

  test('a slow DNS lookup does not block other reads', async () => {
    const owner = await carillon.createAccount('slow-names.test');
    const other = await carillon.createAccount('beside-slow-names.test');
    const verdict = await verdictOf(owner);
    // Start more checks than the store's limit of concurrent reads.
    const judged = Array.from({ length: 60 }, () => verdict('https://slow.test/in'));
    await eventually(
      () => waiting,
      (names) => names === judged.length,
    );
    assert.equal((await other.carillon.events.list()).data.length, 0);
    named.resolve({ addresses: ['93.184.215.14'] });
    for (const one of judged) assert.equal((await one).verdict, 'allowed');
  });

  test('routes of the console group are not in the API group', async () => {
    const owner = await carillon.createAccount('behind.test');
    for (const path of ['/verdict?target_url=x', '/overview', '/activity', '/hours']) {
      const withKey = await carillon.call(owner, 'GET', `/v2${path}`);
      assert.deepEqual([withKey.status, withKey.json.code], [404, 'not_found'], path);
      const { status } = await carillon.call(owner, 'GET', `/console/api${path}`);
      assert.equal(status, 401, path);
    }
  });
}
