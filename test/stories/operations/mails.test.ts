import assert from 'node:assert/strict';
import { systemClock } from '../../../src/clock.ts';
import { enqueueHookAlerts } from '../../../src/delivery/outbox/end-hooks.ts';
import { createTestClock, fixedJitterRandom, TEST_CLOCK_START, type TestClock } from '../../kit/clock.ts';
import { eventually, eventuallyAfterSteps } from '../../kit/eventually.ts';
import { type ReceivedMail, startMailServer, type TestMailServer } from '../../kit/network/mail.ts';
import { startTarget } from '../../kit/network/target.ts';
import { startSecondNode } from '../../kit/service/nodes.ts';
import type { ApiUser, TestService } from '../../kit/service/service.ts';
import { sharedStores, stores } from '../../kit/service/stores.ts';

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

const mailOptions = (box: Pick<TestMailServer, 'port'>) => ({
  smtpUrl: `smtp://127.0.0.1:${box.port}`,
  mailFrom: 'Carillon <bells@acme.test>',
});

/** Timeout of an SMTP session. */
const SESSION_TIMEOUT_MS = 25 * SECOND_MS;

type MailClock = TestClock & { readonly openSessions: () => number };

/** A test clock that counts open SMTP sessions. They take real time, so the tests do not advance it meanwhile. */
function mailClock(epoch = TEST_CLOCK_START): MailClock {
  const clock = createTestClock(epoch);
  const open = new Set<() => void>();
  return {
    now: clock.now,
    monotonic: clock.monotonic,
    advance: clock.advance,
    jump: clock.jump,
    remainingDelaysMs: [],
    openSessions: () => open.size,
    after(waitMs, run) {
      const close = clock.after(waitMs, () => {
        open.delete(close);
        run();
      });
      if (waitMs === SESSION_TIMEOUT_MS) open.add(close);
      return () => {
        open.delete(close);
        close();
      };
    },
  };
}

/** Advances the clock in steps that are shorter than the timeout of an SMTP session, until a session begins. */
async function advanceInSteps(clock: MailClock, milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0 && clock.openSessions() === 0; left -= 10 * SECOND_MS) {
    await clock.advance(Math.min(left, 10 * SECOND_MS));
  }
}

/** Advances the clock until `wanted` accepts the value. */
function advanceUntil<T>(
  clock: MailClock,
  read: () => T | Promise<T>,
  wanted: (value: T) => boolean,
  stepMs = 10 * SECOND_MS,
): Promise<T> {
  const step = () => advanceInSteps(clock, stepMs);
  return eventuallyAfterSteps(step, read, wanted, 10_000);
}

async function waitForMails(clock: MailClock, box: TestMailServer, count: number): Promise<readonly ReceivedMail[]> {
  await advanceUntil(
    clock,
    () => box.acceptedMails.length,
    (taken) => taken >= count,
  );
  return box.acceptedMails;
}

const sentAt = (mail: ReceivedMail | undefined) => Date.parse(mail?.headers.get('date') ?? '');
const readRows = async ({ store }: TestService, table: 'hook_alerts' | 'mails') =>
  store.read.selectFrom(table).selectAll().execute();

/** Creates hooks, each with its own target URL. */
async function createHooks(who: ApiUser, target: { urlOf(path: string): string }, count: number): Promise<string[]> {
  const targets = Array.from({ length: count }, (_, index) => target.urlOf(`/${who.userId}/${index}?secret=${index}`));
  const made = targets.map((target_url) => who.carillon.hooks.create({ target_url, event: 'new_event' }));
  return (await Promise.all(made)).map(({ id }) => id);
}

/** Waits until `count` deliveries are stored, because attempts take real time, before the clock advances. */
const waitForDelivered = (who: ApiUser, hook_id: string, count: number) =>
  eventually(
    () => who.carillon.deliveries.list({ hook_id, state: 'delivered' }),
    ({ paging }) => paging.total_records === count,
  );

/**
 * Waits until hooks are in a state.
 *
 * @param step runs before each poll, such as advancing the clock
 */
async function waitForState(who: ApiUser, ids: readonly string[], state: string, step?: () => Promise<void>) {
  const found = async () => (await who.carillon.hooks.list({ state: state as 'ended' })).data.map(({ id }) => id);
  const areThere = (there: readonly string[]) => ids.every((id) => there.includes(id));
  return step === undefined ? eventually(found, areThere, 10_000) : eventuallyAfterSteps(step, found, areThere, 10_000);
}

for (const { test, testService, serviceProcess, database } of stores) {
  test('X10 a hook fails twice and its owner gets a mail; it ends, and the command in the second mail restores it with all missed deliveries', async (t) => {
    const [clock, box] = [mailClock(), await startMailServer(t)];
    const setup = {
      options: { ...mailOptions(box), retryWaits: '1m,2h', attemptTimeout: '1m' },
      deps: { clock, random: fixedJitterRandom() },
    };
    const carillon = await testService(t, setup);
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500);
    const [id = ''] = await createHooks(owner, target, 1);
    const missed = [await owner.carillon.events.create(event)];
    const failures = (count: string) =>
      eventually(
        () => owner.carillon.hooks.get(id),
        (hook) => hook.failures === count,
      );
    await failures('1');
    assert.deepEqual(await readRows(carillon, 'hook_alerts'), [], 'one failure causes no alert');
    await clock.advance(MINUTE_MS);
    await failures('2');
    const [failing] = await waitForMails(clock, box, 1);
    assert.equal(failing?.headers.get('subject'), `Hook ${id} is failing (acme.test)`);
    assert.equal(failing?.to, 'owner@acme.test');
    const next = (await owner.carillon.hooks.get(id)).next_attempt_at;
    assert.ok(
      failing?.text.includes(`the last one with 500. It will be retried on ${next} UTC; if that fails, the hook ends.`),
    );
    assert.ok(sentAt(failing) - TEST_CLOCK_START >= 90 * SECOND_MS, 'alerts are collected for half a minute');

    await clock.advance(Date.parse(`${next.replace(' ', 'T')}Z`) + SECOND_MS - clock.now());
    await waitForState(owner, [id], 'ended');
    missed.push(await owner.carillon.events.create(event));
    const [, ended] = await waitForMails(clock, box, 2);
    const { date_ended } = await owner.carillon.hooks.get(id);
    assert.equal(ended?.headers.get('subject'), `Hook ${id} has ended (acme.test)`);
    assert.ok(
      ended?.text.includes(`It ended on ${date_ended} UTC: three attempts in a row failed, the last one with 500.`),
    );
    assert.ok(ended?.text.includes(`${carillon.baseUrl}/#/hooks/${id}\n`));
    assert.ok(ended?.html.includes(`<a href="${carillon.baseUrl}/#/hooks/${id}">`));
    for (const { raw, text, html } of box.acceptedMails) {
      assert.ok(text.includes(`${target.url}/… of new_event`), text);
      for (const form of [raw, text, html])
        assert.ok(!form.includes('secret='), 'the path of a target may contain a secret');
    }

    // Run the command in the mail, as its reader would.
    const [, call = ''] = /curl -X POST (\S+) -H 'domain: acme\.test' -H 'key: …'/.exec(ended?.text ?? '') ?? [];
    target.setReplies(200);
    const before = target.received.length;
    const response = await fetch(call, { method: 'POST', headers: owner.headers });
    assert.equal(response.status, 200);
    const arrived = (await target.waitForArrivals(before + 2)).slice(before).map(({ resourceUrl }) => resourceUrl);
    assert.deepEqual(arrived.sort(), missed.map(({ event_id }) => `${carillon.baseUrl}/v2/events/${event_id}`).sort());

    await waitForDelivered(owner, id, 2);

    await advanceUntil(
      clock,
      async () => [...(await readRows(carillon, 'hook_alerts')), ...(await readRows(carillon, 'mails'))],
      ({ length }) => length === 0,
    );
    assert.equal(box.acceptedMails.length, 2, 'each was sent once, and nothing is left');
    const { text } = await carillon.call(undefined, 'GET', '/metrics');
    assert.match(text, /^carillon_mails_total\{result="sent"\} 2$/m);
  });

  test('X10 two hundred hooks that end together are one mail; the next one is delayed; recovered and restored hooks are not mentioned', async (t) => {
    const [clock, box] = [mailClock(), await startMailServer(t)];
    const carillon = await testService(t, { options: { ...mailOptions(box), retryWaits: '10s,1h' }, deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const away = await startTarget(t, 401);
    const ids = await createHooks(owner, away, 200);
    const [membersOwn = ''] = await createHooks(member, away, 1);
    const flaky = await startTarget(t, 500);
    const [flakyHook = ''] = await createHooks(member, flaky, 1);
    await owner.carillon.events.create(event);
    await member.carillon.events.create(event);
    // The start rate is limited, so attempts begin one after the other.
    await waitForState(owner, ids, 'ended', () => clock.advance(20));
    await eventually(
      () => member.carillon.hooks.get(flakyHook),
      ({ failures }) => failures === '1',
    );
    await clock.advance(11 * SECOND_MS);
    await eventually(
      () => member.carillon.hooks.get(flakyHook),
      ({ failures }) => failures === '2',
    );
    flaky.setReplies(200);
    await member.carillon.hooks.test(flakyHook);
    await waitForState(member, [flakyHook], 'live');
    away.setReplies(200);
    await owner.carillon.hooks.restore(ids[0] ?? '');
    await waitForDelivered(owner, ids[0] ?? '', 1);
    await waitForMails(clock, box, 2);
    const [first, ...others] = box.acceptedMails.toSorted((one, other) => other.text.length - one.text.length);
    assert.equal(first?.headers.get('subject'), '199 hooks have ended (acme.test)');
    for (const id of ids.slice(1)) assert.ok(first?.text.includes(`\nHook ${id} has ended\n`), id);
    assert.ok(!first?.text.includes(`Hook ${ids[0]} `), 'it was restored');
    assert.deepEqual(
      others.map((mail) => mail.headers.get('subject')),
      [`Hook ${membersOwn} has ended (acme.test)`],
      'each user gets a mail about their own hooks, without recovered ones',
    );
    assert.match(others[0]?.text ?? '', /responded 401, which ends the subscription/);

    // Hooks ended by another user are reported, hooks ended by their owner are not, and deleted users get no mail.
    const later = { urlOf: (path: string) => away.urlOf(`/later${path}`) };
    const [deleted = '', own = '', both = ''] = await createHooks(member, later, 3);
    const gone = await carillon.createUser(owner, 'member');
    await createHooks(gone, away, 1);
    await owner.carillon.hooks.delete(deleted);
    await member.carillon.hooks.delete(own);
    await owner.carillon.hooks.delete(both);
    await member.carillon.hooks.restore(both);
    await clock.advance(SECOND_MS);
    await member.carillon.hooks.delete(both);
    await owner.carillon.users.delete(gone.userId);
    const third = (await waitForMails(clock, box, 3))[2];
    assert.equal(third?.headers.get('subject'), `Hook ${deleted} has ended (acme.test)`);
    assert.match(third?.text ?? '', /another user of the account deleted it/);
    assert.equal(third?.to, others[0]?.to);
    assert.ok(sentAt(third) - sentAt(others[0]) >= 5 * MINUTE_MS, 'not immediately after the other');
    await advanceUntil(
      clock,
      async () => [...(await readRows(carillon, 'hook_alerts')), ...(await readRows(carillon, 'mails'))],
      ({ length }) => length === 0,
    );
    assert.equal(box.receivedMails.length, 3);
  });

  test('X10 X11 an admin who becomes a member gets a mail about the hooks that end with the role', async (t) => {
    const [clock, box] = [mailClock(), await startMailServer(t)];
    const carillon = await testService(t, { options: mailOptions(box), deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const admin = await carillon.createUser(owner, 'admin');
    const target = await startTarget(t);
    const hook = { target_url: target.url, events: ['*'], scope: 'account' } as const;
    const { id } = await admin.carillon.hooks.create(hook);
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    const [mail] = await waitForMails(clock, box, 1);
    assert.equal(mail?.headers.get('subject'), `Hook ${id} has ended (acme.test)`);
    assert.match(mail?.text ?? '', /its user is no longer an admin/);
  });

  test('X10 while the mail server is down, rejects or hangs, nothing is lost, no user waits for another, and after days mails are given up', async (t) => {
    const [clock, first] = [mailClock(), await startMailServer(t)];
    await first.close();
    const carillon = await testService(t, { options: mailOptions(first), deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const [rejected, hanging] = [
      await carillon.createUser(owner, 'member'),
      await carillon.createUser(owner, 'member'),
    ];
    const target = await startTarget(t, 401);
    const end = async (who: ApiUser, path: string) => {
      const { id } = await who.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_event' });
      await who.carillon.events.create(event);
      await waitForState(who, [id], 'ended');
      return id;
    };
    const failed = () => carillon.logged.filter((line) => line.event === 'mail.failed');
    const ids = [await end(owner, '/first')];
    await advanceUntil(clock, failed, ({ length }) => length >= 9, MINUTE_MS);
    const waits = failed().map((line) => Number(line.wait_ms) / MINUTE_MS);
    assert.deepEqual(waits.slice(0, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60], 'hours, with growing waits');
    assert.match(String(failed()[0]?.reason), /ECONNREFUSED/);
    ids.push(await end(owner, '/second'));

    const box = await startMailServer(t, { port: first.port });
    const [late] = await waitForMails(clock, box, 1);
    for (const id of ids) assert.ok(late?.text.includes(`Hook ${id} has ended`), 'later alerts are in the same mail');
    assert.equal(box.receivedMails.length, 1);

    // A permanently rejected mail is given up without blocking other mails. A mail that hung is sent again unchanged.
    const emails = await carillon.store.read.selectFrom('users').select(['user_id', 'email']).execute();
    const emailOf = ({ userId }: ApiUser) => emails.find(({ user_id }) => String(user_id) === userId)?.email;
    box.replyToRecipient = (address) => (address === emailOf(rejected) ? 550 : 'take');
    const mailsToHanging = () => box.receivedMails.filter(({ to }) => to === emailOf(hanging));
    box.replyToData = ({ to }) => (to === emailOf(hanging) && mailsToHanging().length === 1 ? 'hang' : 'take');
    const [, of] = [await end(rejected, '/rejected'), await end(hanging, '/hanging')];
    await advanceUntil(clock, mailsToHanging, ({ length }) => length === 1);
    // Deliveries continue while a mail hangs.
    await end(owner, '/meanwhile');
    const next = await end(hanging, '/next');
    assert.equal(mailsToHanging().length, 1);
    await clock.advance(30 * SECOND_MS);
    await waitForMails(clock, box, 3);
    const [hung, again] = mailsToHanging();
    assert.ok(again?.text.includes(`Hook ${of} has ended`));
    assert.ok(!again?.text.includes(`Hook ${next} has ended`), 'the repeated mail has no new content');
    assert.equal(
      again?.headers.get('message-id'),
      hung?.headers.get('message-id'),
      'the recipient can recognize a copy',
    );
    assert.notEqual(late?.headers.get('message-id'), hung?.headers.get('message-id'));
    const givenUp = () => carillon.logged.filter((line) => line.event === 'mail.given_up');
    assert.deepEqual(
      givenUp().map(({ user_id, reason }) => [String(user_id), /550/.test(String(reason))]),
      [[rejected.userId, true]],
    );

    await box.close();
    await end(hanging, '/late');
    await carillon.stop();
    for (const [tries, given] of [
      [76, 0],
      [77, 1],
    ] as const) {
      // The clock is a year later, but only the number of tries decides whether a mail is given up.
      const later = mailClock(clock.now() + 8_760 * HOUR_MS);
      const options = mailOptions(first);
      const service = await testService(t, { database: carillon.database, options, deps: { clock: later } });
      await service.store.write(({ queries }) => queries.updateTable('mails').set({ tries }).execute());
      const isOfHanging = ({ user_id }: Record<string, unknown>) => String(user_id) === hanging.userId;
      await advanceUntil(
        later,
        () => service.logged.filter((line) => /^mail\.(failed|given_up)$/.test(String(line.event))).filter(isOfHanging),
        ({ length }) => length > 0,
      );
      await eventually(
        async () => (await readRows(service, 'hook_alerts')).filter(isOfHanging).length,
        (count) => count === (given > 0 ? 0 : 2),
      );
      const { text } = await service.call(undefined, 'GET', '/metrics');
      if (given > 0) assert.match(text, /^carillon_mails_total\{result="given_up"\} \d$/m);
      assert.match(text, given > 0 ? /^carillon_hook_alerts_pending 0$/m : /^carillon_hook_alerts_pending [1-9]/m);
      await service.stop();
    }
  });

  test('X10 a mail created while the clock was 400 days ahead is sent once the clock is corrected', async (t) => {
    const [clock, box] = [mailClock(), await startMailServer(t)];
    const carillon = await testService(t, { options: mailOptions(box), deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 401);
    const [id = ''] = await createHooks(owner, target, 1);
    clock.jump(400 * 24 * HOUR_MS);
    await owner.carillon.events.create(event);
    await waitForState(owner, [id], 'ended');
    await advanceUntil(
      clock,
      () => readRows(carillon, 'mails'),
      ({ length }) => length === 1,
    );
    clock.jump(-400 * 24 * HOUR_MS);
    const [ended] = await waitForMails(clock, box, 1);
    assert.ok(ended?.text.includes(`Hook ${id} has ended`));
    assert.ok(clock.now() - TEST_CLOCK_START < HOUR_MS, 'and not in 400 days');
  });

  test('X10 a mail is committed together with the end of the hook: after a kill in between, the service sends it once after its next start', async (t) => {
    const box = await startMailServer(t);
    const { smtpUrl, mailFrom } = mailOptions(box);
    const address = await database(t);
    const killed = await serviceProcess(t, {
      CARILLON_DATABASE: address,
      CARILLON_SMTP_URL: smtpUrl,
      CARILLON_MAIL_FROM: mailFrom,
    });
    const target = await startTarget(t, 401);
    const { id } = await killed.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await killed.carillon.events.create(event);
    await eventually(
      () => killed.carillon.hooks.get(id),
      ({ state }) => state === 'ended',
    );
    await killed.stop('SIGKILL');
    const clock = mailClock(Date.now() + MINUTE_MS);
    const options = mailOptions(box);
    const restarted = await testService(t, { database: address, options, deps: { clock } });
    const [mail] = await waitForMails(clock, box, 1);
    assert.match(mail?.headers.get('subject') ?? '', new RegExp(`^Hook ${id} has ended`));
    await restarted.stop();
    const later = mailClock(Date.now() + 2 * HOUR_MS);
    const third = await testService(t, { database: address, options, deps: { clock: later } });
    await advanceUntil(
      later,
      () => readRows(third, 'mails'),
      ({ length }) => length === 0,
    );
    assert.equal(box.receivedMails.length, 1);
  });

  test('X10 without a mail server nothing is stored and nothing is sent', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const ids = await createHooks(owner, await startTarget(t, 500), 2);
    const [deleted = ''] = await createHooks(member, await startTarget(t), 1);
    await owner.carillon.events.create(event);
    await owner.carillon.hooks.delete(deleted);
    await waitForState(owner, ids, 'ended');
    assert.deepEqual([await readRows(carillon, 'hook_alerts'), await readRows(carillon, 'mails')], [[], []]);
    // Alerts that are left from a time with a mail server do not count as pending.
    await carillon.store.write((tx) => enqueueHookAlerts(tx, 'failing', ids.map(Number), 0));
    const { text } = await carillon.call(undefined, 'GET', '/metrics');
    for (const line of ['carillon_hook_alerts_pending 0', 'carillon_oldest_hook_alert_seconds 0'])
      assert.ok(text.split('\n').includes(line), line);
  });
}

for (const { test, testService, database } of sharedStores) {
  test('X10 of several nodes one sends a mail; if it is killed meanwhile, another sends it again with the same Message-ID', async (t) => {
    const box = await startMailServer(t);
    const options = mailOptions(box);
    const address = await database(t);
    // This clock is in the past, so that the mail is due as soon as another node starts.
    const past = mailClock(Date.now() - HOUR_MS);
    const maker = await testService(t, { database: address, options, deps: { clock: past } });
    const owner = await maker.createAccount('acme.test');
    const target = await startTarget(t, 401);
    const ids = await createHooks(owner, target, 1);
    await owner.carillon.events.create(event);
    await waitForState(owner, ids, 'ended');
    await maker.stop();

    box.replyToData = () => 'hang';
    const { process: doomed } = await startSecondNode(
      t,
      { database: address, headers: owner.headers },
      {
        CARILLON_SMTP_URL: options.smtpUrl,
        CARILLON_MAIL_FROM: options.mailFrom,
      },
    );
    await eventually(
      () => box.receivedMails.length,
      (count) => count === 1,
    );
    const clock = mailClock(Date.now());
    const nodes = [
      await testService(t, { database: address, options, deps: { clock, realClock: systemClock } }),
      await testService(t, { database: address, options, deps: { clock, realClock: systemClock } }),
    ];
    box.replyToData = () => 'take';
    for (let round = 0; round < 30; round += 1) {
      await clock.advance(10 * SECOND_MS);
      await nodes[round % 2]?.store.probe();
    }
    assert.equal(box.countConnections(), 1, 'the first node keeps the mail while it lives');
    doomed.kill('SIGKILL');
    await waitForMails(clock, box, 1);
    for (let round = 0; round < 30; round += 1) {
      await clock.advance(10 * SECOND_MS);
      await nodes[round % 2]?.store.probe();
    }
    assert.equal(box.countConnections(), 2);
    const [cut, sent] = box.receivedMails;
    assert.equal(sent?.headers.get('message-id'), cut?.headers.get('message-id'));
    assert.deepEqual(await readRows(nodes[0] as TestService, 'hook_alerts'), []);
  });
}
