import { systemRandom } from '../../../src/secrets.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import { openStoreAt } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { ICAL } from '../../kit/packages.ts';
import { runCarillon as commandLine } from '../../kit/service/command.ts';
import type { Json } from '../../kit/service/service.ts';
import { diffLines, readAccountRows } from '../tenant-isolation/checks.ts';
import { type Operation, operationsIn } from './document.ts';
import { newFixture } from './fixture.ts';
import { INJECTION_TEXTS } from './values.ts';

/** Names of all headers that a response may have. */
const ALLOWED_HEADERS =
  /^(cache-control|connection|content-length|content-type|date|etag|idempotency-replayed|keep-alive|link|location|x-request-id)$/;

/** Control characters that must not appear on a terminal or in a log. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

export type InjectionResult = {
  readonly written: number;
  readonly requests: number;
  readonly broken: readonly string[];
};

type InjectionDeps = {
  readonly baseUrl: string;
  readonly database: string;
  readonly logged: () => string;
  readonly context: Cleanup;
};

/**
 * Writes every text into every text field of every resource, and checks responses, lists, calendar, command
 * line and log.
 */
export async function writeInjectionTexts({
  baseUrl,
  database,
  logged,
  context,
}: InjectionDeps): Promise<InjectionResult> {
  const store = await openStoreAt(context, database, { openAs: 'command' });
  const target = await startTarget(context);
  const targets = () => target.urlOf(`/${systemRandom.fraction()}`);
  const [fixture, bystander] = [await newFixture(store, baseUrl, targets), await newFixture(store, baseUrl, targets)];
  const broken: string[] = [];
  let [written, requests] = [0, 0];
  const document: Json = await (await fetch(`${baseUrl}/openapi.json`)).json();
  // Paths without a GET are skipped, because they are aliases of a change.
  const isReadable = ({ method, path }: Operation) => method !== 'PUT' || document.paths[path].get !== undefined;
  const operations = operationsIn(document).filter(
    (one) => takesText(one) && isReadable(one) && !one.path.endsWith('/import'),
  );

  async function ask(method: string, path: string, body?: unknown) {
    requests += 1;
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { ...fixture.caller, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const [name] of answer.headers)
      if (!ALLOWED_HEADERS.test(name)) broken.push(`${method} ${path}: unexpected header ${name}`);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: JSON.parse(text) as Json };
  }

  /**
   * Writes one text into some fields. The service must return the text unchanged, or reject it and name a field
   * whose format it does not match.
   */
  async function write(operation: Operation, names: readonly string[], text: string): Promise<void> {
    const path = operation.path.replace(/\{\w+\}/g, () => fixture.newestId(operation.ids[0] ?? '') ?? '0');
    const body = { ...requiredFieldsOf(operation), ...Object.fromEntries(names.map((name) => [name, text])) };
    const answer = await ask(operation.method, path, body);
    const rejectedFields: readonly string[] = answer.json.errors?.map((one: Json) => one.field) ?? [];
    if (
      answer.status === 400 &&
      rejectedFields.length > 0 &&
      rejectedFields.every((name) => mayReject(operation, name, text))
    )
      return;
    if (answer.status >= 300) {
      broken.push(`${operation.name} answers ${answer.status} to ${JSON.stringify(text)} in ${names}`);
      return;
    }
    written += names.length;
    const readBack = await ask('GET', new URL(answer.headers.get('location') ?? `${baseUrl}${path}`).pathname);
    for (const name of names) {
      const expected = expectedValue(name, text);
      const read = readBack.json.data?.[name];
      // The response to a new hook has only its id.
      const shown = answer.json.data === undefined ? read : answer.json.data[name];
      if (shown !== expected || read !== expected)
        broken.push(
          `${operation.name}: ${name} was written as ${JSON.stringify(expected)}, and reads ${JSON.stringify([shown, read])}`,
        );
    }
  }

  async function writeAll(operation: Operation): Promise<void> {
    const fields = textFieldsOf(operation);
    const formattedFields =
      operation.method === 'POST' ? fields.filter(({ isFree }) => !isFree).map(({ name }) => name) : [];
    for (const text of INJECTION_TEXTS) {
      const free = fields.filter(({ isFree, maxLength }) => isFree && text.length <= maxLength).map(({ name }) => name);
      if (free.length > 0) await write(operation, free, text);
      for (const name of formattedFields) await write(operation, [name], text);
    }
  }

  const readBystanderRows = () => readAccountRows({ store }, bystander.caller.domain ?? '');
  // The deliveries of the bystander change its rows, so the test waits for them first.
  await eventually(
    () => store.read.selectFrom('pending_deliveries').select('delivery_id').execute(),
    (pending) => pending.length === 0,
    20_000,
  );
  const before = await readBystanderRows();
  // The writes of one operation are sequential, so that a read returns the last write.
  await Promise.all(operations.map(writeAll));

  await checkFilters(ask, broken);
  await checkCalendar(ask, broken);
  for (const line of diffLines(before, await readBystanderRows()))
    broken.push(`a row of another account changed: ${line}`);
  const environment = {
    CARILLON_SERVICE: baseUrl,
    CARILLON_KEY: fixture.caller.key ?? '',
    CARILLON_DOMAIN: fixture.caller.domain ?? '',
  };
  for (const resourceType of [
    'clients',
    'comments',
    'contacts',
    'projects',
    'tasks',
    'teams',
    'time-entries',
    'events',
  ]) {
    const { code, stdout, stderrLines } = await commandLine([resourceType, 'list'], { environment });
    const strange = stdout.split('\n').find((line) => CONTROL_CHARACTERS.test(line));
    if (code !== 0 || strange !== undefined)
      broken.push(`carillon ${resourceType} list: ${code} ${stderrLines} ${JSON.stringify(strange)}`);
  }
  for (const line of logged().split('\n').slice(1, -1)) {
    if (CONTROL_CHARACTERS.test(line) || !isObject(line) || line.includes('"event":"forged"'))
      broken.push(`the log contains the line ${JSON.stringify(line)}`);
  }
  return { written, requests, broken };
}

type SendRequest = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ status: number; headers: Headers; json: Json }>;

/**
 * Checks that a filter finds exactly the records that contain the text, and that the link to the next page keeps
 * the filter.
 */
async function checkFilters(ask: SendRequest, broken: string[]): Promise<void> {
  const all: readonly Json[] = (await ask('GET', '/v2/clients')).json.data;
  const names = all.map(({ client_name }) => String(client_name));
  for (const text of INJECTION_TEXTS.map((one) => one.trim()).filter(
    (one) => /^[\x20-\x7e]+$/.test(one) && one.length < 60,
  )) {
    const path = `/v2/clients?client_name=${encodeURIComponent(text)}`;
    const expected = names.filter((name) => toAsciiLowerCase(name).includes(toAsciiLowerCase(text))).length;
    const { json, headers } = await ask('GET', `${path}&limit=1`);
    if (json.paging?.total_records !== expected)
      broken.push(`client_name=${text} finds ${json.paging?.total_records} of ${expected} clients`);
    const link = headers.get('link');
    if (expected < 2) continue;
    const [, next = ''] = /^<(http:\/\/127\.0\.0\.1:\d+\/[^<>"\s]+)>; rel="next"$/.exec(link ?? '') ?? [];
    if (new URL(next || 'http://x').searchParams.get('client_name') !== text)
      broken.push(`the link of ${text} is ${link}`);
  }
}

/** Converts only ASCII letters to lower case. The databases compare other letters differently. */
const toAsciiLowerCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Checks that the calendar, parsed by another library, has an entry for each event and no injected lines. */
async function checkCalendar(ask: SendRequest, broken: string[]): Promise<void> {
  const { json } = await ask('POST', '/v2/calendars', { scope: 'account' });
  const text = await (await fetch(json.data.url)).text();
  const events: readonly Json[] = (await ask('GET', '/v2/events')).json.data;
  const entries = new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent');
  const names = entries.map((entry) => String(entry.getFirstPropertyValue('summary')));
  for (const { event_name } of events) {
    if (!names.some((one) => withoutControls(one) === withoutControls(String(event_name))))
      broken.push(`the calendar lacks ${JSON.stringify(event_name)}`);
  }
  const strange = text
    .split('\r\n')
    .find((line) => /^(ATTACH|SUMMARY:forged|set-cookie)/i.test(line) || /[\r\n]/.test(line));
  if (strange !== undefined) broken.push(`the calendar contains the line ${JSON.stringify(strange)}`);
  const extra = entries.length - events.length;
  // The calendar also has entries for due tasks.
  if (extra < 0 || text.split('BEGIN:VEVENT\r\n').length - 1 !== entries.length)
    broken.push(`${entries.length} entries`);
}

/** Removes control characters and white space, because a calendar drops control characters and has other line ends. */
const withoutControls = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]/gu, '');

/**
 * Whether a field may reject a text: if the text does not match the format of the field, or is blank and the field
 * is required.
 */
function mayReject(operation: Operation, name: string, text: string): boolean {
  const field = textFieldsOf(operation).find((one) => one.name === name);
  return field?.isFree === false || (field !== undefined && text.trim() === '');
}

const takesText = (operation: Operation) => operation.body !== undefined && textFieldsOf(operation).length > 0;

type TextField = { readonly name: string; readonly maxLength: number; readonly isFree: boolean };

/** Returns the text fields of a request body according to its schema. `isFree` is true if a field accepts any text. */
function textFieldsOf({ body }: Operation): TextField[] {
  return Object.entries<Json>(body.properties).flatMap(([name, schema]) => {
    if (
      schema.type !== 'string' ||
      schema.enum !== undefined ||
      schema.format !== undefined ||
      name === 'ics' ||
      name === 'target_url'
    )
      return [];
    const isFree = schema.maxLength !== undefined && schema.pattern === undefined && !name.endsWith('time_zone');
    return [{ name, maxLength: schema.maxLength ?? 0, isFree }];
  });
}

/** Today as YYYYMMDD. Test events are dated today, because the calendar shows only entries near today. */
const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');

/** Returns plain values for the required fields of a creation. The text under test replaces some of them. */
function requiredFieldsOf({ body }: Operation): Record<string, string> {
  const required: readonly string[] = body.required ?? [];
  // A hook needs one of two fields, which a list of required fields cannot say.
  if (required.includes('target_url')) return { target_url: nextTarget(), event: 'new_event' };
  return Object.fromEntries(required.map((name) => [name, requiredValueFor(name)]));
}

const nextTarget = () => `http://127.0.0.1:9/${systemRandom.fraction()}`;

function requiredValueFor(name: string): string {
  if (name.endsWith('_date')) return today;
  if (name === 'seconds') return '60';
  return name === 'email' ? `${systemRandom.fraction()}@acme.test` : 'Plain';
}

/** Returns the value that is expected after a text was written: trimmed, and normalized for some fields. */
function expectedValue(name: string, text: string): string {
  if (name === 'currency') return text.toUpperCase();
  return name === 'tags' ? normalizeTags(text) : text.trim();
}

const normalizeTags = (text: string) =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
    .join(',');

function isObject(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
