import { endedReasons } from '../../delivery/dispatcher/retry-policy.ts';
import {
  hookKinds,
  isHookKind,
  isOccurrenceKind,
  type OccurrenceKind,
  occurrenceKinds,
} from '../../delivery/outbox/event-kinds.ts';
import { ALL_KINDS, type HookScope, hookScopes } from '../../delivery/outbox/subscriptions.ts';
import { MAX_TARGET_LENGTH, parseTarget } from '../../delivery/transport/ssrf-guard.ts';
import { readOnlyTimestamp, utcTime } from '../../http/fields/dates.ts';
import { createParser, type Field, type ParsedValue } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import {
  flag,
  plainText,
  readOnlyDigits,
  readOnlyEnum,
  readOnlyEnumList,
  readOnlyFlag,
  readOnlyInteger,
  readOnlyText,
  readOnlyTexts,
} from '../../http/fields/scalar-fields.ts';
import { idParameter } from '../../http/routes/query-parameters.ts';
import { enumFilter, sqlCondition } from '../core/filters.ts';

/** Response fields of a hook (X1). */
export const hookFields = {
  id: ownRecordId('Identifier of the hook.'),
  event: readOnlyEnum('Its kind, if it reports exactly one; otherwise empty.', ['', ...occurrenceKinds]),
  events: readOnlyEnumList(
    'The kinds that it reports, or only * for all.',
    [ALL_KINDS, ...occurrenceKinds],
    'HookEvent',
  ),
  scope: readOnlyEnum('Whose occurrences it reports.', hookScopes, 'HookScope'),
  project_id: readOnlyId('The project, with scope project; "0" for none.'),
  name: readOnlyText('Its name.'),
  enabled: readOnlyFlag('Whether notifications are sent; otherwise they are pending.'),
  headers: readOnlyTexts('The names of its own headers. Their values are never returned.'),
  target_url: readOnlyText('The address that is notified.'),
  user_id: readOnlyId('The user of the hook.'),
  state: readOnlyEnum('live, failing (between a failure and the next 200), or ended.', ['live', 'failing', 'ended']),
  failures: readOnlyDigits('Failures in a row; the third ends the hook.'),
  next_attempt_at: readOnlyTimestamp('Time of the next attempt while it is failing, UTC.'),
  last_outcome: readOnlyText('Outcome of the last attempt: a status, or one word; empty before the first.'),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_ended: readOnlyTimestamp('When it ended, UTC.'),
  ended_reason: readOnlyEnum('Why it ended; empty while it is live.', ['', ...endedReasons]),
  signed: readOnlyFlag('Whether its notifications are signed.'),
  secret_created: readOnlyTimestamp('When its newest secret was created, UTC.'),
  secret_previous_until: readOnlyTimestamp('Until when the previous secret also signs, UTC.'),
};

const TARGET_REQUIREMENT = 'must be an absolute http or https address of at most 2,048 characters';

const targetUrlField: Field<string, 'writable'> = {
  mode: 'writable',
  description: 'The address to notify: absolute, http or https, at most 2,048 characters, unique, hard to guess.',
  inputSchema: {
    type: 'string',
    maxLength: MAX_TARGET_LENGTH,
    'x-must': TARGET_REQUIREMENT,
  },
  parse(value) {
    if (typeof value !== 'string' || value.length > MAX_TARGET_LENGTH) return { error: TARGET_REQUIREMENT };
    const parsedTarget = parseTarget(value);
    return 'fault' in parsedTarget ? { error: parsedTarget.fault } : { value };
  },
  default: undefined,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

const KIND_REQUIREMENT = `must be one of ${hookKinds.join(', ')}`;

const eventField: Field<OccurrenceKind | null, 'writable'> = {
  mode: 'writable',
  description: 'The kind of occurrence to subscribe to; use `events` for several or for other kinds.',
  inputSchema: { title: 'HookKind', enum: hookKinds, 'x-must': KIND_REQUIREMENT },
  parse: createParser(KIND_REQUIREMENT, (value) => (isHookKind(value) ? value : undefined)),
  default: null,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

/** The field of a subscription without `events`. */
export const requiredEventField = { ...eventField, default: undefined };

const EVENTS_REQUIREMENT = 'must be a list of different event kinds, or ["*"] for all';

const eventsField: Field<readonly string[] | null, 'writable'> = {
  mode: 'writable',
  description:
    'The kinds of occurrences to subscribe to, in place of `event`; `["*"]` for all, also later ones, that the key may read.',
  inputSchema: {
    type: 'array',
    items: { title: 'HookEvent', enum: [ALL_KINDS, ...occurrenceKinds] },
    minItems: 1,
    maxItems: occurrenceKinds.length,
    uniqueItems: true,
    'x-must': EVENTS_REQUIREMENT,
  },
  parse: parseEvents,
  default: null,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

function parseEvents(value: unknown): ParsedValue<readonly string[]> {
  if (!Array.isArray(value) || value.length === 0 || value.length > occurrenceKinds.length)
    return { error: EVENTS_REQUIREMENT };
  if (value.length === 1 && value[0] === ALL_KINDS) return { value };
  const unknownKind = value.find((kind) => !isOccurrenceKind(kind));
  if (unknownKind !== undefined) return { error: `${EVENTS_REQUIREMENT}; the kinds are ${occurrenceKinds.join(', ')}` };
  return new Set(value).size === value.length ? { value } : { error: `${EVENTS_REQUIREMENT}: a kind is repeated` };
}

const SCOPE_REQUIREMENT = `must be one of ${hookScopes.join(', ')}`;

const scopeField: Field<HookScope, 'writable'> = {
  mode: 'writable',
  description:
    'own: what you caused; project: what happens to a project and the records in it; account: everything, for admins.',
  inputSchema: { type: 'string', enum: hookScopes, 'x-must': SCOPE_REQUIREMENT },
  parse: createParser(SCOPE_REQUIREMENT, (value) => hookScopes.find((scope) => scope === value)),
  default: 'own',
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

const MAX_HEADERS = 5;
const MAX_HEADER_NAME_LENGTH = 64;
const MAX_HEADER_VALUE_LENGTH = 4_096;
const HEADERS_REQUIREMENT = `must be an object of at most ${MAX_HEADERS} headers: names with texts`;

/**
 * Headers that the service or the connection sets. So are all that begin with `webhook-`, `content-`, `proxy-` and
 * `sec-`.
 */
const reservedHeaders = new Set([
  ...['accept-encoding', 'connection', 'date', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'user-agent', 'via', 'http2-settings'],
]);
const reservedHeaderPrefixes = ['webhook-', 'content-', 'proxy-', 'sec-'];

const headersField: Field<Readonly<Record<string, string>>, 'writable'> = {
  mode: 'writable',
  description:
    'Further headers of its notifications, for the gateway of the target: at most 5. The values are never returned. Required with a target of another origin if the hook has headers.',
  inputSchema: {
    type: 'object',
    maxProperties: MAX_HEADERS,
    additionalProperties: { type: 'string', minLength: 1, maxLength: MAX_HEADER_VALUE_LENGTH },
    'x-must': HEADERS_REQUIREMENT,
  },
  parse: parseHeaders,
  default: {},
  outputSchema: {},
  serialize: () => undefined,
};

function parseHeaders(value: unknown): ParsedValue<Readonly<Record<string, string>>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { error: HEADERS_REQUIREMENT };
  const headers = Object.entries(value);
  if (headers.length > MAX_HEADERS) return { error: HEADERS_REQUIREMENT };
  const parsedHeaders: Record<string, string> = {};
  for (const [name, text] of headers) {
    const lowerName = name.toLowerCase();
    if (name.length > MAX_HEADER_NAME_LENGTH || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      return { error: `must have names of at most ${MAX_HEADER_NAME_LENGTH} letters, digits and hyphens` };
    if (reservedHeaders.has(lowerName) || reservedHeaderPrefixes.some((prefix) => lowerName.startsWith(prefix)))
      return { error: `must not contain ${name}, which is reserved` };
    if (Object.hasOwn(parsedHeaders, lowerName)) return { error: `must not contain ${name} twice` };
    if (typeof text !== 'string' || text.length > MAX_HEADER_VALUE_LENGTH || !/^[!-~](?:[ -~\t]*[!-~])?$/.test(text))
      return { error: `must have values of 1 to ${MAX_HEADER_VALUE_LENGTH} printable ASCII characters: ${name}` };
    parsedHeaders[lowerName] = text;
  }
  return { value: parsedHeaders };
}

/** Input fields of a subscription (the specification, section 4; X11). */
export const hookInputFields = {
  target_url: targetUrlField,
  event: eventField,
  events: eventsField,
  scope: scopeField,
  project_id: recordIdOrNone('The project, with scope project.'),
  name: plainText('Its name.'),
  enabled: flag('Whether notifications are sent; otherwise they are pending until the hook is enabled.', 1),
  headers: headersField,
};

/** Response fields of a replay (X13). */
export const replayFields = {
  hook_id: ownRecordId('Identifier of the hook.'),
  deliveries: readOnlyInteger('The number of deliveries that are sent again, without those that wait for it already.'),
};

/** Input fields of a replay. */
export const replayInputFields = {
  from: utcTime('Deliveries that became pending at this time or later, UTC.'),
  to: utcTime('Deliveries that became pending at this time or earlier, UTC.'),
};

/** Response schema of a subscription. The id is at the top level, not in `data` (C11). */
export const subscriptionResponseSchema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$', description: 'Identifier of the hook, needed to unsubscribe.' },
  },
};

export const hookFilters = {
  state: enumFilter('live, failing or ended.', {
    live: sqlCondition('hooks.date_ended is null and hooks.failures = 0'),
    failing: sqlCondition('hooks.date_ended is null and hooks.failures > 0'),
    ended: sqlCondition('hooks.date_ended is not null'),
  }),
};

export const ownerParameter = { user_id: idParameter('Another user instead of yourself; for admins.') };
