import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { Store } from '../../../src/store/store.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { openStoreAt, readAllBytes } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { startMailServer } from '../../kit/network/mail.ts';
import { formatRequest, sendRawBytes } from '../../kit/network/raw-http.ts';
import { startTarget, type Target } from '../../kit/network/target.ts';
import { runCarillon, runCarillonJson } from '../../kit/service/command.ts';
import { startProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { createDatabaseWithPassword, LeakFixture, type NameValues, useCommands } from './fixture.ts';

/** Places that may contain targets and signing secrets, since the service needs them in plain text. */
const PLAINTEXT_PLACES = ['the database', 'the backup', 'the export', 'the database of the import'];

/** Places that may contain values of hook headers: exports do not. */
const HEADER_PLACES = ['the database', 'the backup'];

/** Places that may contain targets, since callers may read their own targets in responses. */
const TARGET_PLACES = [...PLAINTEXT_PLACES, 'answers'];

/** Password of the mail server of the tests. */
const MAIL_PASSWORD = 'pass:word/#1';

/**
 * Uses every feature that handles a secret, successfully and with errors. Returns everything that was printed or
 * written.
 */
export async function runScenario(store: TestStore, context: Cleanup, isFirst: boolean): Promise<LeakFixture> {
  const fixture = new LeakFixture(context);
  const database = await createDatabaseWithPassword(store, context, fixture);
  const [target, mailBox] = [await startTarget(context), await startMailServer(context)];
  fixture.registerSecret('the password of the mail server', MAIL_PASSWORD);
  const environment = {
    ...fixture.environment,
    CARILLON_DATABASE: database,
    CARILLON_LOG_LEVEL: 'debug',
    CARILLON_PORT: '0',
    CARILLON_RETRY_WAITS: '20ms,20ms',
    CARILLON_METRICS_TOKEN: fixture.createSecret('the token of the metrics'),
    CARILLON_SMTP_URL: `smtp://carillon:${encodeURIComponent(MAIL_PASSWORD)}@127.0.0.1:${mailBox.port}?tls=off`,
    CARILLON_MAIL_FROM: 'carillon@acme.test',
  };
  Object.assign(fixture.environment, environment);
  const logFile = join(fixture.folder, 'log');
  const log = openSync(logFile, 'w');
  const service = await startProcess({ ...environment, ...preloadCrashHandler(fixture) }, log);
  closeSync(log);
  const { baseUrl, process: child } = service;
  atEnd(context, () => child.kill('SIGKILL'));
  child.stdout?.on('data', (text: string) => fixture.collectOutput('what the service says later', text));
  fixture.registerSecret('the key of the first start', service.key ?? '');
  const account = ['accounts', 'create', '--domain', 'acme.test', '--email', 'owner@acme.test'];
  const { domain, key } = await runCarillonJson(account, { environment });
  fixture.registerSecret("an owner's first key", key);

  const ask = createRequester(fixture, baseUrl);
  const owner = { key, domain };
  await useKeys(fixture, ask, owner, environment);
  const admin = await openStoreAt(context, database, { openAs: 'command' });
  await useHookHeaders(fixture, ask, owner, target);
  await useTargets(fixture, ask, owner, target, baseUrl, admin);
  await signIn(fixture, ask, domain);
  await subscribe(fixture, ask, owner);
  await sendMisplacedSecrets(fixture, ask, owner, baseUrl, environment);
  fixture.collectOutput('the list of processes', readFileSync(`/proc/${child.pid}/cmdline`, 'latin1'));
  await useCommands(fixture, store, context, environment, isFirst);
  await eventually(
    () => mailBox.receivedMails.filter(({ headers }) => /hook/i.test(headers.get('subject') ?? '')).length,
    (count) => count > 0,
    20_000,
  );
  for (const mail of mailBox.receivedMails) fixture.collectOutput('mails', mail.raw + mail.text + mail.html);
  fixture.collectOutput('the database', (await readAllBytes(database)).toString('latin1'));
  await breakDatabase(fixture, store, admin, ask, owner, target);
  child.kill('SIGUSR2');
  const [code] = await once(child, 'exit');
  fixture.collectOutput('the log', readFileSync(logFile, 'latin1'));
  if (code !== 1) throw new Error(`it did not end of an error: ${code}`);
  return fixture;
}

/**
 * Returns environment variables that preload a handler into the service. The handler crashes the service with an
 * error whose properties contain secrets, like errors of databases and URLs.
 */
function preloadCrashHandler(fixture: LeakFixture): NameValues {
  const error = {
    detail: fixture.createSecret('the row of an error'),
    input: fixture.createSecret('the address of an error'),
  };
  const file = join(fixture.folder, 'crash.js');
  const thrown = `Object.assign(new Error('broken'), ${JSON.stringify(error)})`;
  writeFileSync(file, `process.on('SIGUSR2', () => {\n  const error = ${thrown};\n  throw error;\n})`);
  return { NODE_OPTIONS: `--import=${file}` };
}

type SendRequest = (
  who: NameValues | undefined,
  method: string,
  path: string,
  body?: unknown,
  headers?: NameValues,
) => Promise<{ status: number; headers: Headers; text: string }>;

/** Routes whose response shows a new secret once. */
const SHOWS_SECRET = /^POST \/v2\/(keys|calendars)$/;

/** Returns a function that sends requests and collects all responses, except those that show a new secret. */
function createRequester(fixture: LeakFixture, baseUrl: string): SendRequest {
  return async (who, method, path, body, headers = {}) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { 'content-type': 'application/json', ...who, ...headers },
      ...(body === undefined ? {} : { body: sent }),
    });
    const text = await answer.text();
    if (answer.status >= 400) fixture.collectOutput('refusals', `${text}\n${JSON.stringify([...answer.headers])}\n`);
    else if (answer.headers.has('idempotent-replayed') || !SHOWS_SECRET.test(`${method} ${path}`))
      fixture.collectOutput('answers', text);
    return { status: answer.status, headers: answer.headers, text };
  };
}

async function useKeys(
  fixture: LeakFixture,
  ask: SendRequest,
  owner: NameValues,
  environment: NameValues,
): Promise<void> {
  const issued = JSON.parse((await ask(owner, 'POST', '/v2/keys', { label: 'canary' })).text).data;
  fixture.registerSecret('an issued key', issued.key);
  const word = { 'idempotency-key': fixture.createSecret('a word', PLAINTEXT_PLACES) };
  const twice = () => ask(owner, 'POST', '/v2/keys', { label: 'twice' }, word);
  fixture.registerSecret('a key that is asked for twice', JSON.parse((await twice()).text).data.key);
  fixture.collectOutput('answers', (await twice()).text);
  await ask({ ...owner, key: issued.key }, 'GET', '/v2/user');
  await ask(owner, 'DELETE', `/v2/keys/${issued.id}`);
  await ask({ ...owner, key: issued.key }, 'GET', '/v2/user');
  const wrong = `carillon_${fixture.createSecret('a wrong key')}`;
  await ask({ ...owner, key: wrong }, 'GET', '/v2/user');
  await ask({ key: owner.key ?? '', domain: 'other.test' }, 'GET', '/v2/user');
  // A command prints the key that it creates, once.
  const printed = await runCarillon(
    ['keys', 'create', '--domain', owner.domain ?? '', '--email', 'owner@acme.test', '--json'],
    { environment },
  );
  const key = /carillon_[\w-]{43}/.exec(printed.stdout)?.[0];
  fixture.registerSecret('a key that a command issued', key ?? '');
}

/** Bytes of a response that are kept (C21). A value across this limit is kept in part. */
const KEPT_RESPONSE_BYTES = 1_024;

/**
 * Uses hooks with headers whose values are secrets (X11): valid and rejected ones, and targets that repeat them in
 * their responses, as a whole, without the scheme, escaped in several ways, and cut off by the limit of what is kept.
 */
async function useHookHeaders(
  fixture: LeakFixture,
  ask: SendRequest,
  owner: NameValues,
  target: Target,
): Promise<void> {
  const secret = (what: string) => fixture.createSecret(`${what} in a header of a hook`, HEADER_PLACES);
  const [bearer, quoted, spaced, user, ending] = [
    secret('a token'),
    secret('a quoted token'),
    secret('a token after a tab'),
    secret('a password'),
    secret('the end of a token'),
  ];
  const basic = Buffer.from(`gateway:${user}`).toString('base64');
  fixture.registerSecret('credentials in a header of a hook', basic, HEADER_PLACES);
  const headers = {
    authorization: `Bearer ${bearer}`,
    'x-quoted': `"${quoted}"\\/`,
    'x-spaced': `a\t \t${spaced}`,
    'x-basic': `Basic ${basic}`,
    'x-slash': `abcd/EFGH+${ending}`,
  };
  const replies = (received: NameValues): readonly string[] => [
    JSON.stringify(received),
    `unknown token ${bearer}, unknown password ${user}`,
    `?${new URLSearchParams(received)}&${encodeURIComponent(received['x-quoted'] ?? '')}`,
    bearer.toUpperCase(),
    ...[-30, -25, -22].map((start) => `${'.'.repeat(KEPT_RESPONSE_BYTES + start)}${bearer}`),
    received['x-spaced'] ?? '',
    // As PHP and templates of HTML escape them.
    JSON.stringify(received).replaceAll('/', '\\/').replaceAll('+', '\\u002b'),
    (received['x-slash'] ?? '').replaceAll('/', '&#x2F;').replaceAll('+', '&#43;'),
  ];
  let number = 0;
  target.setReplies((response, notification) => {
    const all = replies(
      Object.fromEntries(Object.keys(headers).map((name) => [name, String(notification.headers[name])])),
    );
    number += 1;
    response.writeHead(500, { 'x-echo': bearer }).end(all[number % all.length]);
  });
  const created = await ask(owner, 'POST', '/v2/hooks', {
    ...{ target_url: target.urlOf('/gateway'), events: ['*'], scope: 'account', name: 'Gateway' },
    headers: { ...headers, authorization: 'Bearer replaced' },
  });
  const id = JSON.parse(created.text).id;
  await ask(owner, 'PUT', `/v2/hooks/${id}`, { headers });
  for (const wrong of [
    { host: secretOf('a reserved header') },
    { 'x-a': `${secretOf('an invalid header')}\n` },
    secretOf('no header'),
  ])
    for (const [method, path] of [
      ['POST', '/v2/hooks'],
      ['PUT', `/v2/hooks/${id}`],
    ] as const)
      await ask(owner, method, path, { target_url: target.urlOf('/wrong'), events: ['*'], headers: wrong });
  for (let test = 0; test < replies({}).length; test += 1) {
    const tested = JSON.parse((await ask(owner, 'POST', `/v2/hooks/${id}/test`)).text).data;
    await eventually(
      async () => JSON.parse((await ask(owner, 'GET', `/v2/deliveries/${tested.id}`)).text).data.attempts.length,
      (count) => count > 0,
    );
  }
  await ask(owner, 'POST', '/v2/clients', { client_name: 'Gateway' });
  await eventually(
    async () => JSON.parse((await ask(owner, 'GET', `/v2/hooks/${id}`)).text).data.state,
    (state) => state === 'ended',
    20_000,
  );
  for (const path of ['/v2/hooks', `/v2/activity?hook_id=${id}`, `/v2/deliveries?hook_id=${id}`])
    await ask(owner, 'GET', path);

  function secretOf(what: string): string {
    return fixture.createSecret(`${what} of a hook`);
  }
}

async function useTargets(
  fixture: LeakFixture,
  ask: SendRequest,
  owner: NameValues,
  target: Target,
  baseUrl: string,
  admin: Store,
): Promise<void> {
  const own = new Carillon({
    baseUrl,
    auth: apiKey({ domain: owner.domain ?? '', key: owner.key ?? '' }),
    retries: 0,
  });
  const secretAt = (what: string, origin = target.url) =>
    `${origin}/${fixture.createSecret(`the path of ${what}`, TARGET_PLACES)}?t=${fixture.createSecret(`the query of ${what}`, TARGET_PLACES)}`;
  const [well, failing, refusing] = [
    secretAt('a target'),
    secretAt('a failing target'),
    secretAt('a target that answers 401'),
  ];
  const nowhere = secretAt('a target that refuses', 'http://127.0.0.1:9');
  target.setReplies((response, { path }) => {
    const status = failing.endsWith(path) ? 500 : 401;
    response.writeHead(well.endsWith(path) ? 200 : status, { 'x-echo': path }).end(path);
  });
  for (const url of [well, failing, refusing, nowhere])
    await own.hooks.create({ target_url: url, event: 'new_client' });
  const hooks = (await own.hooks.list()).data.filter(({ name }) => name === '');
  for (const { id } of hooks) {
    fixture.registerSecret('a signing secret', (await own.hooks.createSecret(id)).secret, PLAINTEXT_PLACES);
    fixture.registerSecret(
      'a signing secret after another',
      (await own.hooks.createSecret(id)).secret,
      PLAINTEXT_PLACES,
    );
  }
  await own.clients.create({ client_name: 'Bells' });
  await eventually(
    () => own.hooks.list(),
    ({ data }) => data.filter(({ state }) => state === 'ended').length === 4,
    20_000,
  );
  // Alerts for owners are collected for half a minute; here they become due immediately.
  const makeAlertsDue = sql`insert into mails (account_id, user_id, made_at, due_at)
    select account_id, user_id, min(noted_at), min(noted_at) from hook_alerts group by account_id, user_id
    on conflict (user_id) do update set due_at = excluded.due_at`;
  await admin.write(({ queries }) => makeAlertsDue.execute(queries));
  for (const { id } of hooks) {
    await ask(owner, 'POST', `/v2/hooks/${id}/test`);
    await ask(owner, 'GET', `/v2/deliveries?hook_id=${id}`);
  }
  for (const path of ['/v2/hooks', `/v2/hooks/${hooks[0]?.id}`, '/v2/keys', '/v2/users', '/v2/notifications'])
    await ask(owner, 'GET', path);
  for (const path of ['/openapi.json', '/docs', '/readyz', '/']) await ask(undefined, 'GET', path);
  // Rejected values must not be stored anywhere.
  const forbidden = `http://169.254.169.254/${fixture.createSecret('the path of a forbidden target')}`;
  for (const body of [
    { target_url: well, event: 'new_client' },
    { target_url: well, event: 'no_kind' },
    { target_url: forbidden, event: 'new_client' },
    { target_url: `http://user:${fixture.createSecret('a password in a target')}@127.0.0.1/`, event: 'new_client' },
    `{"target_url":"${target.url}/${fixture.createSecret('the path of a malformed body')}"`,
  ])
    await ask(owner, 'POST', '/v2/hooks', body);
  await ask(owner, 'POST', `/v2/hooks/1/secret`, { overlap: fixture.createSecret('a secret as a number') });
}

async function signIn(fixture: LeakFixture, ask: SendRequest, domain: string): Promise<void> {
  const home = { 'sec-fetch-site': 'same-origin' };
  const { stdout } = await runCarillon(['users', 'invite', '--domain', domain, '--email', 'owner@acme.test'], {
    environment: { ...fixture.environment, CARILLON_BASE_URL: 'http://127.0.0.1:8080' },
  });
  const token = /#\/welcome\/([\w-]+)/.exec(stdout)?.[1] ?? '';
  fixture.registerSecret('the token of a link', token);
  const passphrase = fixture.createSecret('a passphrase');
  // No place may contain a fast hash of the passphrase, because it would allow a dictionary attack.
  for (const fast of ['md5', 'sha1', 'sha256'])
    fixture.registerSecret(`the ${fast} of a passphrase`, createHash(fast).update(passphrase).digest('hex'));
  const wrong = fixture.createSecret('a wrong passphrase');
  const email = 'owner@acme.test';
  const welcomed = await ask(home, 'POST', '/console/welcome', { token, passphrase });
  const cookies = [welcomed];
  await ask(home, 'POST', '/console/welcome', { token, passphrase });
  await ask(home, 'POST', '/console/invitation', { token });
  await ask(home, 'POST', '/console/session', { domain, email, passphrase: wrong });
  await ask(home, 'POST', '/console/session', { domain, email: passphrase, passphrase });
  cookies.push(await ask(home, 'POST', '/console/session', { domain, email, passphrase }));
  for (const { headers } of cookies) {
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    fixture.registerSecret('the token of a session', cookie.slice(cookie.indexOf('=') + 1));
    await ask({ ...home, cookie }, 'GET', '/console/api/user');
    await ask({ ...home, cookie }, 'POST', '/console/api/passphrase', { current: wrong, passphrase: wrong });
    await ask({ cookie }, 'POST', '/console/api/clients', { client_name: 'x' });
    await ask({ ...home, cookie: `${cookie}x` }, 'GET', '/console/api/user');
  }
}

async function subscribe(fixture: LeakFixture, ask: SendRequest, owner: NameValues): Promise<void> {
  const made = JSON.parse((await ask(owner, 'POST', '/v2/calendars', { label: 'canary' })).text).data;
  const token = /\/calendar\/([\w-]{43})\.ics$/.exec(made.url)?.[1] ?? '';
  fixture.registerSecret('the token of a calendar', token);
  await ask(undefined, 'GET', `/calendar/${token}.ics`);
  await ask(undefined, 'GET', `/calendar/${token}.json`);
  await ask(owner, 'GET', `/v2/calendars/${made.id}`);
  await ask(owner, 'DELETE', `/v2/calendars/${made.id}`);
  await ask(undefined, 'GET', `/calendar/${token}.ics`);
}

/** Sends secrets in places where they do not belong: paths, queries, bodies and headers. */
async function sendMisplacedSecrets(
  fixture: LeakFixture,
  ask: SendRequest,
  owner: NameValues,
  baseUrl: string,
  environment: NameValues,
): Promise<void> {
  const { key = '', domain = '' } = owner;
  const token = environment.CARILLON_METRICS_TOKEN ?? '';
  await ask(owner, 'GET', `/v2/${key}`);
  await ask(owner, 'GET', `/v2/clients/${key}`);
  await ask(owner, 'GET', `/v2/events?project_id=${key}&from=${key}`);
  await ask(owner, 'POST', '/v2/clients', { client_name: 7, email: key });
  await ask(owner, 'POST', '/v2/clients', `{"client_name":"${key}`);
  await ask(owner, 'POST', '/v2/clients', key, { 'content-type': `text/${key}` });
  await ask(owner, 'GET', '/v2/clients/1', undefined, { 'if-match': key });
  await ask({ authorization: `Bearer ${key}` }, 'GET', '/v2/user');
  await ask({ domain: key, key: domain }, 'GET', '/v2/user');
  await ask(owner, key.slice(0, 8).toUpperCase().replace('_', 'X'), '/v2/user');
  fixture.collectOutput('metrics', (await ask({ authorization: `Bearer ${token}` }, 'GET', '/metrics')).text);
  await ask({ authorization: `Bearer ${token}x` }, 'GET', '/metrics');
  await ask(undefined, 'GET', `/metrics?token=${token}`);
  for (const lines of [
    [`GET /v2/user?key=${key} HTTP/1.1`, 'host: x', `key ${key}`],
    [`GET /v2/user HTTP/1.1`, 'host: x', `key: ${key}`, `key: ${key}`, `domain: ${domain}`],
    [`${key} / HTTP/1.1`, 'host: x'],
    [`GET /${key} HTTP/7.7`, `key: ${key}`],
    ['POST /v2/hooks HTTP/1.1', 'host: x', `key: ${key}`, `domain: ${domain}`, 'content-length: x'],
  ])
    fixture.collectOutput('refusals', (await sendRawBytes(baseUrl, formatRequest(lines, key))).text);
}

/**
 * Makes all further writes fail with errors of the database, whose texts contain values of the row and must
 * not be passed on.
 */
async function breakDatabase(
  fixture: LeakFixture,
  store: TestStore,
  admin: Store,
  ask: SendRequest,
  owner: NameValues,
  target: Target,
): Promise<void> {
  for (const table of ['hooks', 'targets', 'api_keys', 'calendars', 'sessions', 'clients', 'idempotency']) {
    const statement =
      store.name === 'SQLite'
        ? `create trigger broken_${table} before insert on ${table} begin select raise(abort, 'broken'); end`
        : `alter table ${table} add constraint broken_${table} check (account_id < 0) not valid`;
    await admin.write(({ queries }) => sql.raw(statement).execute(queries));
  }
  const failures = [
    await ask(owner, 'POST', '/v2/hooks', {
      target_url: `${target.url}/${fixture.createSecret('the path of a target that could not be kept')}`,
      event: 'new_event',
    }),
    await ask(owner, 'POST', '/v2/keys', { label: fixture.createSecret('a label that could not be kept') }),
    await ask(owner, 'POST', '/v2/calendars', {}),
    await ask(
      owner,
      'POST',
      '/v2/clients',
      { client_name: 'x', notes: fixture.createSecret('a note that could not be kept') },
      { 'idempotency-key': fixture.createSecret('a word that could not be kept') },
    ),
  ];
  for (const { status } of failures) if (status < 500) throw new Error(`the store is not broken: ${status}`);
  await admin.write(({ queries }) => sql.raw('alter table hooks rename column target to gone').execute(queries));
  await ask(owner, 'GET', '/v2/hooks');
  await ask(owner, 'POST', '/v2/events', { event_name: 'x', start_date: '20270101', due_date: '20270101' });
  await admin.write(({ queries }) => sql.raw('alter table api_keys rename column key_hash to gone').execute(queries));
  await ask(
    { ...owner, key: `carillon_${fixture.createSecret('a key that could not be looked up')}` },
    'GET',
    '/v2/user',
  );
}
