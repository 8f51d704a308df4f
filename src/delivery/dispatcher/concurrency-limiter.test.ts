import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { ConcurrencyLimiter, StartRateLimiter } from './concurrency-limiter.ts';

type Queue = { readonly accountId: number; readonly host: string; isProven: boolean; readonly name: string };

/** A limit that is not reached. */
const maxUnproven = 10_000;
const isProven = true;

/** A rate limiter that never limits. */
const unlimitedRate = { hasPermitLeft: true, takePermit: () => undefined, returnPermit: () => undefined };

test('C22 an account has a concurrency limit, and its queues are served in order', () => {
  const limiter = new ConcurrencyLimiter<Queue>({ maxPerAccount: 2, maxPerHost: 100, maxUnproven }, unlimitedRate);
  const queue = (name: string) => ({ accountId: 1, host: 'one', isProven, name });
  const called = () => limiter.serveWaitingQueues(first).map(({ name }) => name);
  const first = queue('first');
  limiter.acquire(first);
  assert.ok(limiter.admitOrEnqueue(queue('a')));
  limiter.acquire(first);
  const [b, c] = [queue('b'), queue('c')];
  assert.ok(!limiter.admitOrEnqueue(b));
  assert.ok(!limiter.admitOrEnqueue(c));
  assert.ok(limiter.admitOrEnqueue({ accountId: 2, host: 'one', isProven, name: 'another account' }));
  assert.deepEqual(called(), [], 'there is no room yet');
  limiter.release(first);
  assert.deepEqual(called(), ['b']);
  assert.ok(!limiter.admitOrEnqueue(queue('d')), 'the room is kept for whoever was called');
  assert.deepEqual(called(), []);
  assert.ok(limiter.admitOrEnqueue(b));
  // The queue does not use its reserved permit.
  assert.deepEqual(called(), ['c']);
  limiter.release(first);
  assert.deepEqual(called(), ['d']);
  assert.deepEqual(called(), []);
});

test('C22 a queue needs a permit of its account and of its host; accounts at one host are served round-robin', () => {
  const limiter = new ConcurrencyLimiter<Queue>({ maxPerAccount: 2, maxPerHost: 3, maxUnproven }, unlimitedRate);
  const queue = (accountId: number, host: string, name: string) => ({ accountId, host, isProven, name });
  const [first, second] = [queue(1, 'full', 'first'), queue(2, 'full', 'second')];
  for (const one of [first, first, second]) {
    assert.ok(limiter.admitOrEnqueue(one));
    limiter.acquire(one);
  }
  const others = [
    queue(1, 'free', 'at its limits'),
    queue(2, 'full', 'x1'),
    queue(2, 'full', 'x2'),
    queue(3, 'full', 'y1'),
  ];
  assert.deepEqual(
    others.map((one) => limiter.admitOrEnqueue(one)),
    [false, false, false, false],
  );
  const called = (beside: Queue) => limiter.serveWaitingQueues(beside).map(({ name }) => name);
  limiter.release(first);
  assert.deepEqual(called(first), ['at its limits', 'x1'], 'one beside it in its account, one at its host');
  limiter.release(first);
  assert.deepEqual(called(first), ['y1'], 'another account before the second one of the same');
  limiter.release(second);
  assert.deepEqual(called(second), ['x2']);
});

test('C22 with many waiting queues a release inspects few of them, and every queue is served', () => {
  const [accounts, queuesOfEach, limits] = [3, 2_000, { maxPerAccount: 50, maxPerHost: 100, maxUnproven }];
  const limiter = new ConcurrencyLimiter<Queue>(limits, unlimitedRate);
  const turns = new Map<Queue, number>();
  const ready = new Set<Queue>();
  for (let number = 0; number < accounts * queuesOfEach; number += 1)
    turns.set({ accountId: number % accounts, host: 'one', isProven: number % 2 === 0, name: `${number}` }, 0);
  const inFlight: Queue[] = [];
  let looks = 0;
  const begin = () => {
    for (const queue of ready) {
      ready.delete(queue);
      looks += 1;
      if (!limiter.admitOrEnqueue(queue)) continue;
      limiter.acquire(queue);
      turns.set(queue, (turns.get(queue) ?? 0) + 1);
      inFlight.push(queue);
      ready.add(queue);
    }
  };
  for (const lane of turns.keys()) ready.add(lane);
  begin();
  assert.equal(inFlight.length, limits.maxPerHost);
  looks = 0;
  const ended = accounts * queuesOfEach * 2;
  for (let count = 0; count < ended; count += 1) {
    const lane = inFlight.shift();
    assert.ok(lane !== undefined);
    limiter.release(lane);
    for (const next of limiter.serveWaitingQueues(lane)) ready.add(next);
    ready.add(lane);
    begin();
    assert.ok(inFlight.length <= limits.maxPerHost);
  }
  assert.equal(inFlight.length, limits.maxPerHost, 'no room is lost');
  assert.ok(looks <= ended * 4, `${looks} looks for ${ended} that ended`);
  const counts = [...turns.values()];
  assert.ok(
    Math.min(...counts) >= 1 && Math.max(...counts) <= 5,
    `${Math.min(...counts)} to ${Math.max(...counts)} turns`,
  );
});

test('C22 unproven targets have a concurrency limit, round-robin by account, and proven targets have the rest', () => {
  const limiter = new ConcurrencyLimiter<Queue>({ maxPerAccount: 4, maxPerHost: 100, maxUnproven: 2 }, unlimitedRate);
  const strange = (accountId: number, host: string): Queue => ({
    accountId,
    host,
    isProven: false,
    name: `${accountId} ${host}`,
  });
  const known = { ...strange(2, 'known'), isProven };
  const called = (beside: Queue) => limiter.serveWaitingQueues(beside).map(({ name }) => name);
  const [first, second] = [strange(1, 'a'), strange(1, 'b')];
  for (const one of [first, second]) {
    assert.ok(limiter.admitOrEnqueue(one));
    limiter.acquire(one);
  }
  const waiting = [strange(1, 'c'), strange(1, 'd'), strange(2, 'x'), strange(3, 'y')];
  for (const one of waiting) assert.ok(!limiter.admitOrEnqueue(one));
  assert.ok(limiter.admitOrEnqueue(known));
  const place = limiter.acquire(known);
  assert.deepEqual(called(known), [], 'that is no room for them');
  limiter.release(place);
  assert.deepEqual(called(known), []);
  limiter.release(first);
  assert.deepEqual(called(first), ['1 c']);
  limiter.release(second);
  assert.deepEqual(called(second), ['2 x'], 'of another account, which never had a turn');
  const [c, d, x, y] = waiting;
  assert.ok(c !== undefined && d !== undefined && x !== undefined && y !== undefined);
  assert.ok(limiter.admitOrEnqueue(c));
  // The queue does not use its reserved permit.
  assert.deepEqual(called(c), ['3 y']);
  // The target has become proven meanwhile, and does not need the reserved permit.
  x.isProven = true;
  assert.ok(limiter.admitOrEnqueue(x));
  assert.deepEqual(called(x), ['1 d']);
  assert.ok(limiter.admitOrEnqueue(d) && limiter.admitOrEnqueue(y));
});

test('C22 a permit for an unproven target also needs the permits of account and host', () => {
  const limiter = new ConcurrencyLimiter<Queue>({ maxPerAccount: 1, maxPerHost: 2, maxUnproven: 3 }, unlimitedRate);
  const strange = (accountId: number, host: string): Queue => ({
    accountId,
    host,
    isProven: false,
    name: `${accountId} ${host}`,
  });
  const inFlight = [strange(1, 'full'), strange(2, 'full'), strange(3, 'other')];
  const places = inFlight.map((one) => {
    assert.ok(limiter.admitOrEnqueue(one));
    return limiter.acquire(one);
  });
  for (const one of [strange(1, 'a'), strange(4, 'full'), strange(5, 'free')]) assert.ok(!limiter.admitOrEnqueue(one));
  const end = (turn: number) => {
    const [one, place] = [inFlight[turn], places[turn]];
    assert.ok(one !== undefined && place !== undefined);
    limiter.release(place);
    return limiter.serveWaitingQueues(one).map(({ name }) => name);
  };
  assert.deepEqual(end(2), ['5 free'], 'past an account and a host that are full');
  assert.deepEqual(end(1), ['4 full']);
  assert.deepEqual(end(0), ['1 a']);
});

test('C22 a queue that waits for a permit of its account and for an unproven one is served once', () => {
  const limiter = new ConcurrencyLimiter<Queue>({ maxPerAccount: 2, maxPerHost: 9, maxUnproven: 2 }, unlimitedRate);
  const strange = (accountId: number): Queue => ({ accountId, host: 'one', isProven: false, name: '' });
  const [first, second, third] = [strange(1), strange(2), strange(3)];
  const known = { ...first, isProven };
  const places = [known, known, second, third].map((queue) => {
    assert.ok(limiter.admitOrEnqueue(queue));
    return limiter.acquire(queue);
  });
  assert.ok(!limiter.admitOrEnqueue(first), 'its account is at its limit');
  for (const [ended, place] of places.entries()) {
    limiter.release(place);
    if (ended === 0) assert.ok(!limiter.admitOrEnqueue(first), 'two others are on trial');
  }
  assert.deepEqual(limiter.serveWaitingQueues(second), [first]);
  assert.deepEqual(limiter.serveWaitingQueues(first), [], 'not twice');
  assert.ok(limiter.admitOrEnqueue(first));
  for (let count = 0; count < 2; count += 1) {
    assert.ok(limiter.admitOrEnqueue(known), 'no room is kept for it any more');
    limiter.acquire(known);
  }
});

test('C22 attempts to unproven targets are rate-limited, and those to proven targets start immediately', () => {
  const pace = { left: 2 };
  const limiter = new ConcurrencyLimiter<Queue>(
    { maxPerAccount: 9, maxPerHost: 9, maxUnproven: 9 },
    {
      get hasPermitLeft() {
        return pace.left > 0;
      },
      takePermit: () => {
        pace.left -= 1;
      },
      returnPermit: () => {
        pace.left += 1;
      },
    },
  );
  const strange = (name: string): Queue => ({ accountId: 1, host: 'a', isProven: false, name });
  const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(strange);
  assert.ok(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
  for (const one of [first, second]) {
    assert.ok(limiter.admitOrEnqueue(one));
    limiter.acquire(one);
  }
  for (const one of [third, fourth]) assert.ok(!limiter.admitOrEnqueue(one));
  const known = { ...strange('known'), isProven };
  assert.ok(limiter.admitOrEnqueue(known));
  assert.deepEqual(limiter.serveWaitingQueues(known), [], 'there is room, and not yet time');
  pace.left = 1;
  assert.deepEqual(limiter.serveWaitingQueues(), [third]);
  assert.deepEqual(limiter.serveWaitingQueues(), [], 'the one that may begin is kept for whoever was called');
  assert.ok(limiter.admitOrEnqueue(third));
  // The queue does not use its reserved permit.
  assert.deepEqual(limiter.serveWaitingQueues(third), [fourth]);
});

test('C22 a burst is limited to the maximum per interval, and single starts do not wait', async () => {
  const clock = createTestClock();
  const more: number[] = [];
  const begun = clock.now();
  const pace = new StartRateLimiter({
    clock,
    maxStarts: 2,
    intervalMs: 10,
    onPermitsRenewed: () => void more.push(clock.now() - begun),
  });
  pace.takePermit();
  assert.ok(pace.hasPermitLeft);
  pace.takePermit();
  assert.ok(!pace.hasPermitLeft);
  await clock.advance(9);
  assert.ok(!pace.hasPermitLeft);
  await clock.advance(1);
  assert.deepEqual(more, [10]);
  assert.ok(pace.hasPermitLeft);
  assert.deepEqual(clock.remainingDelaysMs, [], 'nobody waits for what nobody needs');
  pace.takePermit();
  pace.takePermit();
  pace.returnPermit();
  assert.ok(pace.hasPermitLeft, 'one has not begun');
  await clock.advance(10);
  pace.returnPermit();
  pace.takePermit();
  pace.takePermit();
  assert.ok(!pace.hasPermitLeft, 'what is given back late is no more than there was');
});
