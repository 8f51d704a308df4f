import ICAL from 'ical.js';
import type { Cleanup } from '../../test/harness/cleanup.ts';
import { carillon as commandLine } from '../../test/harness/command.ts';
import { openAt } from '../../test/harness/database.ts';
import { allRows } from '../../test/harness/filled.ts';
import type { Json } from '../../test/harness/service.ts';
import { type Operation, operationsIn } from './document.ts';
import { newStage } from './stage.ts';
import { TEXTS } from './texts.ts';

/** Every header that an answer may have. */
const HEADERS =
  /^(cache-control|connection|content-length|content-type|date|etag|idempotency-replayed|keep-alive|link|location|x-request-id)$/;

/** Nothing of these may stand in what a person reads on a terminal, or an operator in a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

export type Injected = { readonly written: number; readonly broken: readonly string[] };

type Ports = {
  readonly baseUrl: string;
  readonly database: string;
  readonly logged: () => string;
  readonly context: Cleanup;
};

/** Writes every text into every field of every noun that takes text, and looks at whatever it could have come to. */
export async function inject({ baseUrl, database, logged, context }: Ports): Promise<Injected> {
  const store = await openAt(context, database, { as: 'command' });
  const targets = () => `http://127.0.0.1:9/${Math.random()}`;
  const [stage, bystander] = [await newStage(store, baseUrl, targets), await newStage(store, baseUrl, targets)];
  const broken: string[] = [];
  let written = 0;
  const document: Json = await (await fetch(`${baseUrl}/openapi.json`)).json();
  const operations = operationsIn(document).filter(({ body, ids }) => body !== undefined && !ids.includes('hook_id'));

  async function ask(method: string, path: string, body?: unknown, caller = stage.caller) {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { ...caller, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const [name] of answer.headers) if (!HEADERS.test(name)) broken.push(`${method} ${path}: the header ${name}`);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: JSON.parse(text) as Json };
  }

  /** One text in all fields that take text: what is refused is left out, named, and nothing else is. */
  async function write(operation: Operation, text: string): Promise<void> {
    const path = operation.path.replace(/\{\w+\}/g, () => stage.first(operation.ids[0] ?? '') ?? '0');
    const [least, fields] = [leastOf(operation), textFieldsOf(operation)];
    const first = await ask(operation.method, path, {
      ...least,
      ...Object.fromEntries(fields.map(({ name }) => [name, text])),
    });
    const refused: readonly string[] = first.json.errors?.map((one: Json) => one.field) ?? [];
    for (const { name, most, isFree } of fields) {
      if (refused.includes(name) && isFree && [...text.trim()].length <= most && text.trim() !== '')
        broken.push(`${operation.name} refuses ${JSON.stringify(text)} in ${name}`);
    }
    const taken = fields.filter(({ name }) => !refused.includes(name)).map(({ name }) => name);
    const body = { ...least, ...Object.fromEntries(taken.map((name) => [name, text])) };
    const answer = refused.length === 0 ? first : await ask(operation.method, path, body);
    if (answer.status >= 300) {
      broken.push(
        `${operation.name} answers ${answer.status} to ${JSON.stringify(text)}: ${JSON.stringify(answer.json)}`,
      );
      return;
    }
    written += taken.length;
    const again = await ask('GET', new URL(answer.headers.get('location') ?? `${baseUrl}${path}`).pathname);
    for (const name of taken) {
      const wanted = name === 'tags' ? tagsOf(text) : text.trim();
      const [shown, read] = [answer.json.data?.[name], again.json.data?.[name]];
      if (shown !== wanted || read !== wanted)
        broken.push(
          `${operation.name}: ${name} was ${JSON.stringify(wanted)}, and reads ${JSON.stringify([shown, read])}`,
        );
    }
  }

  const ofBystander = async () => {
    const { json } = await ask('GET', '/v2/company', undefined, bystander.caller);
    const id = Number(json.data.company_id);
    const rows = Object.entries(await allRows(store)).map(([table, all]) => [
      table,
      all.filter((row) => row.account_id === id),
    ]);
    // When a key was used changes by looking.
    return JSON.stringify(rows, (name, value) => (name === 'last_used' ? undefined : value));
  };
  const before = await ofBystander();
  const waiting = operations.flatMap((operation) =>
    textFieldsOf(operation).length === 0 ? [] : TEXTS.map((text) => [operation, text] as const),
  );
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await write(...next);
  };
  await Promise.all([lane(), lane(), lane(), lane(), lane(), lane(), lane(), lane()]);

  await filtersReadThemAsThemselves(ask, broken);
  await theCalendarHoldsNothingElse(ask, broken);
  if ((await ofBystander()) !== before) broken.push("another account's rows have changed");
  const environment = {
    CARILLON_SERVICE: baseUrl,
    CARILLON_KEY: stage.caller.key ?? '',
    CARILLON_DOMAIN: stage.caller.domain ?? '',
  };
  for (const noun of ['clients', 'events', 'users', 'keys']) {
    const { code, stdout, faults } = await commandLine([noun, 'list'], { environment });
    const strange = stdout.split('\n').find((line) => CONTROL.test(line));
    if (code !== 0 || strange !== undefined)
      broken.push(`carillon ${noun} list: ${code} ${faults} ${JSON.stringify(strange)}`);
  }
  for (const line of logged().split('\n').slice(1, -1)) {
    if (CONTROL.test(line) || !isObject(line) || line.includes('"event":"forged"'))
      broken.push(`the log holds the line ${JSON.stringify(line)}`);
  }
  return { written, broken };
}

type Ask = (method: string, path: string) => Promise<{ status: number; headers: Headers; json: Json }>;

/** A filter finds what has the text in it, and nothing else; and the address of the next page leads there. */
async function filtersReadThemAsThemselves(ask: Ask, broken: string[]): Promise<void> {
  const all: readonly Json[] = (await ask('GET', '/v2/clients')).json.data;
  const names = all.map(({ client_name }) => String(client_name));
  for (const text of TEXTS.map((one) => one.trim()).filter((one) => /^[\x20-\x7e]+$/.test(one) && one.length < 60)) {
    const path = `/v2/clients?client_name=${encodeURIComponent(text)}`;
    const wanted = names.filter((name) => lower(name).includes(lower(text))).length;
    const { json, headers } = await ask('GET', `${path}&limit=1`);
    if (json.paging?.total_records !== wanted)
      broken.push(`client_name=${text} finds ${json.paging?.total_records} of ${wanted} clients`);
    const link = headers.get('link');
    if (wanted < 2) continue;
    const [, next = ''] = /^<(http:\/\/127\.0\.0\.1:\d+\/[^<>"\s]+)>; rel="next"$/.exec(link ?? '') ?? [];
    if (new URL(next || 'http://x').searchParams.get('client_name') !== text)
      broken.push(`the link of ${text} is ${link}`);
  }
}

/** Upper and lower case of ASCII are one; of everything else each database has its own mind. */
const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** The calendar, read by another hand than ours, has an entry for each event, by its name, and no line of anybody else's. */
async function theCalendarHoldsNothingElse(ask: Ask, broken: string[]): Promise<void> {
  const { json } = await ask('POST', '/v2/calendars');
  const text = await (await fetch(json.data.url)).text();
  const events: readonly Json[] = (await ask('GET', '/v2/events')).json.data;
  const entries = new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent');
  const names = entries.map((entry) => String(entry.getFirstPropertyValue('summary')));
  for (const { event_name } of events) {
    const name = String(event_name).replace(/\r\n?/g, '\n');
    if (!names.some((one) => withoutControls(one) === withoutControls(name)))
      broken.push(`the calendar does not have ${JSON.stringify(event_name)}`);
  }
  const strange = text
    .split('\r\n')
    .find((line) => /^(ATTACH|SUMMARY:forged|set-cookie)/i.test(line) || /[\r\n]/.test(line));
  if (strange !== undefined) broken.push(`the calendar holds the line ${JSON.stringify(strange)}`);
  const extra = entries.length - events.length;
  // Tasks that are due are entries, too.
  if (extra < 0 || text.split('BEGIN:VEVENT\r\n').length - 1 !== entries.length)
    broken.push(`${entries.length} entries`);
}

/** A calendar has no control signs but tabs and line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
const withoutControls = (text: string) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '').trim();

type TextField = { readonly name: string; readonly most: number; readonly isFree: boolean };

/** The fields that take text, by the document: freely, or in a form of its own. */
function textFieldsOf({ body }: Operation): TextField[] {
  return Object.entries<Json>(body.properties).flatMap(([name, schema]) => {
    if (schema.type !== 'string' || schema.enum !== undefined || name === 'ics' || name === 'target_url') return [];
    const isFree = schema['x-text'] !== undefined && schema.pattern === undefined;
    return [{ name, most: schema['x-text']?.most ?? 0, isFree }];
  });
}

const leasts: Readonly<Record<string, Json>> = {
  start_date: '20990301',
  due_date: '20990302',
  email: () => `${Math.random()}@acme.test`,
};

/** What a creation needs beside the text. */
function leastOf({ body }: Operation): Record<string, unknown> {
  const required: readonly string[] = body.required ?? [];
  return Object.fromEntries(
    required
      .filter((name) => leasts[name] !== undefined)
      .map((name) => [name, typeof leasts[name] === 'function' ? leasts[name]() : leasts[name]]),
  );
}

const tagsOf = (text: string) =>
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
