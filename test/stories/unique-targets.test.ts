import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Resolve } from '../../src/delivery/transport/dns-resolver.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  const resolve: Resolve = async () => ({ addresses: ['93.184.215.14'] });
  const carillon = await testService({ after }, { ports: { resolve } });
  const owner = await carillon.account('acme.test');
  const otherOwner = await carillon.account('other.test');
  const subscribe = (target_url: string, who = owner) =>
    carillon.call(who, 'POST', '/v2/hooks', { target_url, event: 'new_event' });

  /** Groups of URLs that are equal after WHATWG URL normalization. */
  const sameAddresses: readonly (readonly string[])[] = [
    ['https://one.test', 'https://one.test/', 'HTTPS://ONE.TEST/', 'https://one.test:443/', 'https://one.test:0443'],
    ['http://two.test/', 'http://two.test:80/', 'http://two.test:80', 'http://two.test/#', 'http://two.test/#part'],
    ['https://three.test/a/c', 'https://three.test/a/b/../c', 'https://three.test/a/./c', 'https://three.test/a/%2e/c'],
    ['https://four.test/?q=1', 'https://four.test?q=1', 'https://four.test/?q=1#q=2'],
    ['http://8.8.8.8/', 'http://134744072/', 'http://0x8.8.8.8/', 'http://8.8.2056/'],
    ['https://bücher.test/', 'https://xn--bcher-kva.test/', 'https://BÜCHER.test/', 'https://b%C3%BCcher.test/'],
    ['http://[2606:4700::1111]/', 'http://[2606:4700:0:0:0:0:0:1111]/'],
    ['https://six.test/\\b', 'https://six.test//b'],
  ];

  for (const [first = '', ...others] of sameAddresses) {
    test(`C12 ${first} is taken in every other spelling, for all users of the service`, async () => {
      assert.equal((await subscribe(first)).status, 201);
      for (const other of [first, ...others]) {
        for (const who of [owner, otherOwner]) {
          const response = await subscribe(other, who);
          assert.equal(response.status, 409, other);
          assert.equal(response.json.code, 'target_taken');
        }
      }
    });
  }

  test('C12 URLs that differ after normalization are different targets', async () => {
    const base = 'https://seven.test/a';
    const others = [
      'http://seven.test/a',
      'https://seven.test/A',
      'https://seven.test/a/',
      'https://seven.test/a?',
      'https://seven.test/a?b',
      'https://seven.test:8443/a',
      'https://seven.test./a',
      'https://www.seven.test/a',
    ];
    for (const target of [base, ...others]) assert.equal((await subscribe(target)).status, 201, target);
  });

  test('C12 another kind does not free a target', async () => {
    assert.equal((await subscribe('https://eight.test/')).status, 201);
    const body = { target_url: 'https://eight.test/', event: 'new_client' };
    assert.equal((await carillon.call(owner, 'POST', '/v2/hooks', body)).status, 409);
  });

  test('C12 of sixty concurrent creations exactly one is 201, and every other 409', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = (await owner.carillon.hooks.list()).paging.total_records;
      const spellings = [`https://race${round}.test/`, `HTTPS://Race${round}.test:443/#x`, `https://race${round}.test`];
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          subscribe(spellings[index % 3] ?? '', index % 2 === 0 ? owner : otherOwner),
        ),
      );
      const statuses = responses.map((response) => response.status);
      assert.equal(statuses.filter((status) => status === 201).length, 1);
      assert.equal(statuses.filter((status) => status === 409).length, 59);
      const made = (await owner.carillon.hooks.list()).paging.total_records - before;
      assert.equal(
        made,
        responses.findIndex((response) => response.status === 201) % 2 === 0 ? 1 : 0,
        'refused means not made',
      );
    }
  });

  test('C12 a target is free again once its hook has ended, and not before', async () => {
    const target = 'https://nine.test/';
    const { json } = await subscribe(target);
    assert.equal((await subscribe(target, otherOwner)).status, 409);
    await owner.carillon.hooks.delete(json.id);
    const taken = await subscribe(target, otherOwner);
    assert.equal(taken.status, 201);
    assert.equal((await subscribe(target)).status, 409);
    assert.notEqual(taken.json.id, json.id);
  });
}
