import assert from 'node:assert/strict';
import { after } from 'node:test';
import { CarillonConsole } from '../../../packages/sdk/src/console.ts';
import { createTestClock } from '../../kit/clock.ts';
import { readAllBytes } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { type ApiResponse, type ApiUser, type TestService, withProductionHashing } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

const PASSPHRASE = 'correct horse battery staple';
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };
const tokenOf = (link: string) => link.split('/').at(-1) ?? '';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  const callPublicRoute = (
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    at: TestService = carillon,
  ) =>
    at.call(
      { headers: { ...SAME_ORIGIN, ...headers } },
      body === undefined ? 'DELETE' : 'POST',
      `/console/${path}`,
      body,
    );

  /** Returns the cookie of a response, as the browser would send it. */
  const cookieIn = ({ headers }: ApiResponse) => headers.get('set-cookie')?.split(';')[0] ?? '';

  /** Sets a passphrase through a link and returns the response. */
  async function setPassphrase(who: Pick<ApiUser, 'domain' | 'userId'>, passphrase = PASSPHRASE, at = carillon) {
    return callPublicRoute('welcome', { token: tokenOf(await at.createInvitationLink(who)), passphrase }, {}, at);
  }

  /** Returns the audit entries about sign-ins of an account. */
  async function auditEntries({ domain }: ApiUser, at = carillon): Promise<string[]> {
    const rows = await at.store.read
      .selectFrom('audit')
      .innerJoin('accounts', 'accounts.account_id', 'audit.account_id')
      .select(['action', 'key_id'])
      .where('accounts.domain', '=', domain)
      .orderBy('audit_id')
      .execute();
    const own = rows.filter(({ action }) => /^(session|sign_in|invitation|passphrase)\./.test(action));
    assert.ok(own.every(({ key_id }) => key_id === 0));
    return own.map(({ action }) => action);
  }

  const emailOf = async (who: ApiUser) => (await who.carillon.user.get()).email;

  test('a link names its user, sets a passphrase once, and signs in', async () => {
    const owner = await carillon.createAccount('welcome.test');
    const link = await carillon.createInvitationLink(owner);
    assert.ok(link.startsWith(`${carillon.baseUrl}/#/welcome/`));
    const token = tokenOf(link);
    const invitation = await callPublicRoute('invitation', { token });
    const { expires, ...whom } = invitation.json.data;
    assert.deepEqual(whom, {
      email: 'owner@welcome.test',
      user_name: 'Account Owner',
      domain: 'welcome.test',
      company_name: 'welcome.test',
      has_passphrase: '0',
    });
    assert.match(expires, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.equal((await callPublicRoute('invitation', { token })).status, 200, 'asking does not use it up');

    const welcomed = await callPublicRoute('welcome', { token, passphrase: PASSPHRASE });
    assert.deepEqual([welcomed.status, welcomed.json], [200, { data: { user_id: owner.userId } }]);
    assert.equal(welcomed.headers.get('cache-control'), 'no-store');
    const cookie = cookieIn(welcomed);
    const me = await carillon.call({ headers: { ...SAME_ORIGIN, cookie } }, 'GET', '/console/api/user');
    assert.equal(me.json.data.user_id, owner.userId);

    for (const response of [
      await callPublicRoute('invitation', { token }),
      await callPublicRoute('welcome', { token, passphrase: PASSPHRASE }),
      await callPublicRoute('invitation', { token: 'x'.repeat(43) }),
      await callPublicRoute('welcome', { token: '', passphrase: PASSPHRASE }),
    ]) {
      assert.deepEqual([response.status, response.json.code], [404, 'not_found']);
      assert.equal(response.headers.get('set-cookie'), null);
    }
    assert.deepEqual(await auditEntries(owner), [
      'invitation.created',
      'invitation.used',
      'passphrase.set',
      'session.created',
    ]);
  });

  test('of two concurrent uses of a link one succeeds', async () => {
    const owner = await carillon.createAccount('twice.test');
    const token = tokenOf(await carillon.createInvitationLink(owner));
    const both = await Promise.all(
      [1, 2].map((one) => callPublicRoute('welcome', { token, passphrase: `${PASSPHRASE} ${one}` })),
    );
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404]);
  });

  test('a user with a passphrase signs in and out', async () => {
    const owner = await carillon.createAccount('sign-in.test');
    await setPassphrase(owner);
    const email = 'OWNER@Sign-in.test';
    const signedIn = await callPublicRoute('session', { domain: 'SIGN-IN.test', email, passphrase: PASSPHRASE });
    assert.deepEqual([signedIn.status, signedIn.json], [200, { data: { user_id: owner.userId } }]);
    const cookie = cookieIn(signedIn);
    const user = () => carillon.call({ headers: { ...SAME_ORIGIN, cookie } }, 'GET', '/console/api/user');
    assert.equal((await user()).status, 200);

    const out = await callPublicRoute('session', undefined, { cookie });
    assert.deepEqual([out.status, out.json], [200, []]);
    assert.match(out.headers.get('set-cookie') ?? '', /^carillon_\d+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/);
    const after = await user();
    assert.deepEqual([after.status, after.json.code], [401, 'signed_out']);
    assert.equal((await callPublicRoute('session', undefined, { cookie })).status, 200, 'also without a session');
    assert.equal((await callPublicRoute('session')).status, 200);
    assert.deepEqual((await auditEntries(owner)).slice(-2), ['session.created', 'session.ended']);
  });

  test('a new sign-in ends the previous session of the browser', async () => {
    const owner = await carillon.createAccount('anew.test');
    const first = cookieIn(await setPassphrase(owner));
    const input = { domain: 'anew.test', email: 'owner@anew.test', passphrase: PASSPHRASE };
    const second = cookieIn(await callPublicRoute('session', input, { cookie: first }));
    assert.notEqual(second, first);
    const statuses = [first, second].map(async (cookie) => {
      return (await carillon.call({ headers: { ...SAME_ORIGIN, cookie } }, 'GET', '/console/api/user')).status;
    });
    assert.deepEqual(await Promise.all(statuses), [401, 200]);
  });

  test('the cookie belongs to this host only: by port under http, by its name prefix under https', async (t) => {
    const owner = await carillon.createAccount('cookie.test');
    const { port } = new URL(carillon.baseUrl);
    const plain = (await setPassphrase(owner)).headers.get('set-cookie') ?? '';
    const attributes = 'Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict';
    assert.match(plain, new RegExp(`^carillon_${port}=[\\w-]{43}; ${attributes}$`));

    const secure = await testService(t, { options: { baseUrl: 'https://calendar.example/bells' } });
    const resident = await secure.createAccount('acme.test');
    // The service listens on loopback and has another public address.
    const at = secure.service.url;
    const welcomed = await fetch(`${at}/console/welcome`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, 'content-type': 'application/json' },
      body: JSON.stringify({ token: tokenOf(await secure.createInvitationLink(resident)), passphrase: PASSPHRASE }),
    });
    const set = welcomed.headers.get('set-cookie') ?? '';
    assert.match(set, new RegExp(`^__Host-carillon=[\\w-]{43}; ${attributes}; Secure$`));
    const [cookie = ''] = set.split(';');
    const readUser = (headers: Record<string, string>) =>
      fetch(`${at}/console/api/user`, { headers: { ...SAME_ORIGIN, ...headers } });
    assert.equal((await readUser({ cookie })).status, 200);
    assert.equal((await readUser({ cookie: cookie.replace('__Host-carillon', 'carillon_443') })).status, 401);
    const post = (origin: string) =>
      fetch(`${at}/console/session`, { method: 'DELETE', headers: { origin } }).then(({ status }) => status);
    assert.deepEqual([await post('https://calendar.example'), await post(at)], [200, 403]);
  });

  test('every failed sign-in gets the same response after the same amount of work', async (t) => {
    const shipped = await testService(t, withProductionHashing);
    await shipped.createAccount('welcome.test');
    const owner = await shipped.createAccount('wrong.test');
    const bare = await shipped.createUser(owner, 'member');
    const deleted = await shipped.createUser(owner, 'admin');
    await setPassphrase(owner, PASSPHRASE, shipped);
    await setPassphrase(deleted, PASSPHRASE, shipped);
    const deletedEmail = await emailOf(deleted);
    await owner.carillon.users.delete(deleted.userId);
    const good = { domain: 'wrong.test', email: 'owner@wrong.test', passphrase: PASSPHRASE };
    const wrong: Record<string, object> = {
      passphrase: { ...good, passphrase: 'wrong horse battery staple' },
      'an empty passphrase': { ...good, passphrase: '' },
      email: { ...good, email: 'nobody@wrong.test' },
      'no email': { ...good, email: '' },
      domain: { ...good, domain: 'nowhere.test' },
      "another account's domain": { ...good, domain: 'welcome.test' },
      'no passphrase was ever set': { ...good, email: await emailOf(bare) },
      'a deleted user': { ...good, email: deletedEmail },
    };
    const responseTexts = new Set<string>();
    const tookMs: number[] = [];
    for (const [what, input] of Object.entries(wrong)) {
      const startedAt = performance.now();
      const { status, text, json, headers } = await callPublicRoute('session', input, {}, shipped);
      tookMs.push(performance.now() - startedAt);
      assert.deepEqual([status, json.code], [401, 'sign_in_refused'], what);
      assert.equal(headers.get('set-cookie'), null);
      assert.equal(headers.get('www-authenticate'), 'Session realm="carillon"');
      responseTexts.add(text);
    }
    assert.equal(responseTexts.size, 1, 'byte for byte the same');
    // Hashing takes a large part of a second, so the time would show that a response skips it.
    const minMs = Math.min(...tookMs);
    assert.ok(minMs > 50, `${minMs} ms`);
    assert.equal((await callPublicRoute('session', good, {}, shipped)).status, 200);
  });

  test('failed sign-ins are collected in the audit log by user, without anything that was typed', async () => {
    const owner = await carillon.createAccount('gathered.test');
    const input = { domain: 'gathered.test', email: 'owner@gathered.test', passphrase: 'my secret of all secrets' };
    for (const one of [input, input, { ...input, email: 'a secret in the wrong field' }])
      await callPublicRoute('session', one);
    const rows = await eventually(
      () =>
        carillon.store.read
          .selectFrom('audit')
          .innerJoin('accounts', 'accounts.account_id', 'audit.account_id')
          .select(['subject', 'detail', 'audit.user_id', 'source'])
          .where('accounts.domain', '=', 'gathered.test')
          .where('action', '=', 'sign_in.rejected')
          .execute(),
      (all) => all.reduce((sum, { detail }) => sum + JSON.parse(detail).count, 0) === 3,
      10_000,
    );
    const subjects = rows.map(({ subject, user_id, source }) => [subject, user_id, source].join());
    assert.deepEqual([...new Set(subjects)].sort(), [`,0,127.0.0.1`, `user ${owner.userId},0,127.0.0.1`]);
    const stored = [await readAllBytes(carillon.database), JSON.stringify(carillon.logged)].join();
    for (const typed of ['my secret of all', 'a secret in the']) assert.ok(!stored.includes(typed));
  });

  test('the domain may be omitted when there is exactly one account', async (t) => {
    const several = await callPublicRoute('session', { email: 'owner@wrong.test', passphrase: PASSPHRASE });
    assert.deepEqual([several.status, several.json.errors[0].field], [400, 'domain']);
    const clean = await testService(t);
    const [only] = await clean.store.read.selectFrom('users').select(['user_id', 'email']).execute();
    const who = { domain: 'carillon.localhost', userId: String(only?.user_id) };
    await setPassphrase(who, PASSPHRASE, clean);
    for (const domain of [{}, { domain: '' }, { domain: 'carillon.localhost' }]) {
      const input = { ...domain, email: only?.email, passphrase: PASSPHRASE };
      assert.equal((await callPublicRoute('session', input, {}, clean)).status, 200, JSON.stringify(domain));
    }
    const missing = await callPublicRoute('session', {}, {}, clean);
    assert.equal(missing.status, 400);
    assert.deepEqual(
      missing.json.errors.map(({ field }: { field: string }) => field),
      ['passphrase'],
    );
  });

  test('a passphrase has 12 to 256 characters and is neither the e-mail address nor the domain; the response names the field', async () => {
    const owner = await carillon.createAccount('long-enough.test');
    const link = tokenOf(await carillon.createInvitationLink(owner));
    const refused = [
      'x'.repeat(11),
      'x'.repeat(257),
      'Owner@long-enough.test',
      'LONG-enough.test',
      'twelve\0charsandmore',
      12,
    ];
    for (const passphrase of [...refused, undefined, null]) {
      const { status, json } = await callPublicRoute('welcome', { token: link, passphrase });
      assert.deepEqual(
        [status, json.code, json.errors?.[0].field],
        [400, 'invalid_input', 'passphrase'],
        String(passphrase),
      );
    }
    assert.equal((await callPublicRoute('invitation', { token: link })).status, 200, 'the link is as good as before');
    const longest = '😀'.repeat(256);
    assert.equal((await callPublicRoute('welcome', { token: link, passphrase: longest })).status, 200);
    const input = { domain: owner.domain, email: `owner@${owner.domain}`, passphrase: longest };
    assert.equal((await callPublicRoute('session', input)).status, 200);
    assert.equal((await callPublicRoute('session', { ...input, passphrase: longest.slice(2) })).status, 401);
  });

  test('after five wrong tries from one address even the right passphrase has to wait, but not from another address', async (t) => {
    const clock = createTestClock();
    const slow = await testService(t, { options: { trustProxy: '127.0.0.1' }, deps: { clock } });
    const owner = await slow.createAccount('slow.test');
    await setPassphrase(owner, PASSPHRASE, slow);
    const good = { domain: 'slow.test', email: 'owner@slow.test', passphrase: PASSPHRASE };
    const from = (address: string, input: object) =>
      callPublicRoute('session', input, { 'x-forwarded-for': address }, slow);
    const wrong = { ...good, passphrase: 'wrong horse battery staple' };
    for (let count = 0; count < 5; count += 1) assert.equal((await from('192.0.2.1', wrong)).status, 401);
    for (const input of [wrong, good]) {
      const { status, json, headers } = await from('192.0.2.1', input);
      assert.deepEqual([status, json.code, headers.get('retry-after')], [429, 'too_many_tries', '30']);
    }
    assert.equal((await from('192.0.2.2', good)).status, 200);
    await clock.advance(30_000);
    assert.equal((await from('192.0.2.1', wrong)).status, 401);
    assert.equal((await from('192.0.2.1', good)).headers.get('retry-after'), '60');
    await clock.advance(60_000);
    assert.equal((await from('192.0.2.1', good)).status, 200);
    for (let count = 0; count < 4; count += 1) assert.equal((await from('192.0.2.1', wrong)).status, 401);

    // Sign-ins of unknown users are delayed in the same way.
    const unknownUser = { ...good, email: 'nobody@slow.test' };
    for (let count = 0; count < 5; count += 1) assert.equal((await from('192.0.2.1', unknownUser)).status, 401);
    assert.equal((await from('192.0.2.1', unknownUser)).status, 429);
  });

  test('the delay reveals neither which users exist nor the name of the account', async (t) => {
    const single = await testService(t);
    const { domain: its = '' } = single.service.firstAccount ?? {};
    const signInSixTimes = async (email: string, first: string, last: string) => {
      const tryToSignIn = (domain: string) =>
        callPublicRoute('session', { domain, email, passphrase: 'a wrong one' }, {}, single);
      const five = await Promise.all([1, 2, 3, 4, 5].map(() => tryToSignIn(first)));
      return [...five, await tryToSignIn(last)].map(({ status }) => status);
    };
    const expected = [401, 401, 401, 401, 401, 429];
    assert.deepEqual(await signInSixTimes(`owner@${its}`, its, ''), expected, 'an existing user');
    assert.deepEqual(await signInSixTimes(`nobody@${its}`, its, ''), expected, 'an unknown user');
    assert.deepEqual(await signInSixTimes(`elsewhere@${its}`, '', 'other.test'), expected, 'an unknown account');
  });

  test('public routes are open only to the pages of the console', async () => {
    const owner = await carillon.createAccount('open.test');
    const token = tokenOf(await carillon.createInvitationLink(owner));
    const bodies: Record<string, object | undefined> = {
      session: { domain: 'open.test', email: 'owner@open.test', passphrase: PASSPHRASE },
      invitation: { token },
      welcome: { token, passphrase: PASSPHRASE },
    };
    for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      for (const [path, body] of [...Object.entries(bodies), ['session', undefined] as const]) {
        const method = body === undefined ? 'DELETE' : 'POST';
        const { status, json } = await carillon.call({ headers }, method, `/console/${path}`, body);
        assert.deepEqual([status, json.code], [403, 'cross_origin'], `${method} ${path} ${JSON.stringify(headers)}`);
      }
    }
    assert.equal((await callPublicRoute('invitation', { token })).status, 200, 'nothing was used up');
    for (const path of ['session', 'invitation', 'welcome', '', 'nothing'])
      assert.equal((await carillon.call({ headers: SAME_ORIGIN }, 'GET', `/console/${path}`)).status, 404, path);
    assert.equal((await callPublicRoute('session', '{')).json.code, 'malformed_body');
  });

  test('with the console client: an invitation, a passphrase, sign-in and sign-out', async () => {
    const owner = await carillon.createAccount('client.test');
    let cookie = '';
    const visitor = new CarillonConsole({
      baseUrl: carillon.baseUrl,
      async fetch(url, init) {
        assert.equal(init.credentials, 'same-origin');
        const response = await fetch(url, {
          ...init,
          headers: { ...(init.headers as Record<string, string>), ...SAME_ORIGIN, cookie },
        });
        cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
        return response;
      },
    });
    await assert.rejects(visitor.user.get(), { code: 'signed_out', status: 401 });
    const token = tokenOf(await carillon.createInvitationLink(owner));
    assert.equal((await visitor.getInvitedUser(token)).email, 'owner@client.test');
    assert.deepEqual(await visitor.acceptInvitation(token, PASSPHRASE), { user_id: owner.userId });
    assert.equal((await visitor.user.get()).user_id, owner.userId);
    const next = 'another horse, another staple';
    await assert.rejects(visitor.passphrase.set({ current: next, passphrase: PASSPHRASE }), { code: 'invalid_input' });
    await visitor.passphrase.set({ current: PASSPHRASE, passphrase: next });
    await visitor.signOut();
    await assert.rejects(visitor.user.get(), { code: 'signed_out' });
    const input = { domain: 'client.test', email: 'owner@client.test' };
    await assert.rejects(visitor.signIn({ ...input, passphrase: PASSPHRASE }), { code: 'sign_in_refused' });
    await visitor.signIn({ ...input, passphrase: next });
    assert.deepEqual(
      (await visitor.sessions.list()).data.map(({ current, user_id }) => [current, user_id]),
      [['1', owner.userId]],
    );
  });

  test('neither passphrases nor tokens are stored in the database, the log or the audit log', async () => {
    const owner = await carillon.createAccount('secrets.test');
    const token = tokenOf(await carillon.createInvitationLink(owner));
    const passphrase = 'nobody will ever find this one';
    const session = cookieIn(await callPublicRoute('welcome', { token, passphrase })).split('=')[1] ?? '';
    await callPublicRoute('session', { domain: 'secrets.test', email: 'owner@secrets.test', passphrase });
    const stored = `${(await readAllBytes(carillon.database)).toString('latin1')}${JSON.stringify(carillon.logged)}`;
    for (const secret of [token, passphrase, session]) {
      assert.ok(secret.length >= 20);
      assert.ok(!stored.includes(secret));
    }
  });
}
