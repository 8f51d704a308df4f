import type { FeedKind } from '../../../packages/sdk/src/api-types.ts';
import type { EndedReason, Hook, HookScope, HookState } from '../../../packages/sdk/src/hooks.ts';

const commonPrefixes = ['new', 'changed', 'deleted'] as const;
const taskPrefixes = ['new', 'changed', 'completed', 'reopened', 'assigned', 'deleted'] as const;

const buildGroup = <Prefix extends string, Type extends string>(
  resourceType: Type,
  collection: string,
  prefixes: readonly Prefix[],
) => ({
  /** The path of an example record below `/v2`. */
  examplePath: `/${collection}/27`,
  title: resourceType.replace('_', ' ').replace(/^./, (letter) => letter.toUpperCase()),
  eventTypes: prefixes.map((prefix) => `${prefix}_${resourceType}` as const),
});

/** All event types, grouped by the type of their record, most common first. */
export const eventTypeGroups: readonly {
  readonly examplePath: string;
  readonly title: string;
  readonly eventTypes: readonly FeedKind[];
}[] = [
  buildGroup('event', 'events', commonPrefixes),
  buildGroup('task', 'tasks', taskPrefixes),
  buildGroup('subtask', 'subtasks', taskPrefixes),
  buildGroup('project', 'projects', ['new', 'changed', 'assigned', 'deleted']),
  buildGroup('client', 'clients', commonPrefixes),
  buildGroup('contact', 'contacts', commonPrefixes),
  buildGroup('comment', 'comments', commonPrefixes),
  buildGroup('time_entry', 'time_entries', commonPrefixes),
  buildGroup('team', 'teams', commonPrefixes),
  buildGroup('user', 'users', commonPrefixes),
];

export const allEventTypes: readonly FeedKind[] = eventTypeGroups.flatMap(({ eventTypes }) => eventTypes);

/** Event types that are selected: a list, or `*` for all, also for those of later versions. */
export type EventTypes = readonly (FeedKind | '*')[];

/** Describes the event types of a hook: one by its name, several by their number. */
export function formatEventTypes(eventTypes: EventTypes): string {
  const [first] = eventTypes;
  if (first === undefined || first === '*') return 'All event types';
  return eventTypes.length === 1 ? formatKindTitle(first) : `${eventTypes.length} event types`;
}

/** Lists the event types of a hook by name. */
export function listEventTypes(eventTypes: EventTypes): string {
  return eventTypes
    .map((eventType) => (eventType === '*' ? 'All event types, also later ones' : formatKindTitle(eventType)))
    .join(', ');
}

/** Returns the title of a hook: its name, or its event types and the host of its target. */
export function hookTitleOf({ name, events, target_url }: Hook): string {
  return name === '' ? `${formatEventTypes(events)} → ${hostOf(target_url)}` : name;
}

/** Describes the scope of a hook. */
export const scopeTexts: Readonly<Record<HookScope, string>> = {
  own: 'What the owner does',
  project: 'One project',
  account: 'Whole account',
};

/** The state of a hook as it is displayed: the one of the API, or `disabled`. */
export type ShownHookState = HookState | 'disabled';

export function shownStateOf({ state, enabled }: Pick<Hook, 'state' | 'enabled'>): ShownHookState {
  return state !== 'ended' && enabled === '0' ? 'disabled' : state;
}

const VERB_BY_KIND_PREFIX = {
  new: 'created',
  changed: 'changed',
  deleted: 'deleted',
  completed: 'completed',
  reopened: 'reopened',
  assigned: 'assigned',
} as const;

/** Splits an event kind into resource type and verb: `new_event` gives `event` and `created`. */
export function splitKind(kind: string): { readonly resourceType: string; readonly verb: string } {
  const [prefix = '', ...resourceWords] = kind.split('_');
  const resourceType = resourceWords.length === 0 ? kind : resourceWords.join(' ');
  return { resourceType, verb: Object.entries(VERB_BY_KIND_PREFIX).find(([key]) => key === prefix)?.[1] ?? '' };
}

/** Returns the display name of an event kind, such as `Event created`. */
export function formatKindTitle(kind: FeedKind | 'test'): string {
  const { resourceType, verb } = splitKind(kind);
  return `${resourceType.charAt(0).toUpperCase()}${resourceType.slice(1)} ${verb}`.trim();
}

/** Texts for attempts that failed without an HTTP status: a description, and advice for the operator of the target. */
const failureTexts: Readonly<Record<string, readonly [description: string, advice: string]>> = {
  timeout: ['no answer in time', 'Answer 200 first and process the notification afterwards.'],
  refused: ['connection refused', 'Nothing listens there. Start the receiver, or check its port.'],
  reset: ['connection broken', 'The receiver, or something before it, closed the connection without an answer.'],
  tls: ['TLS failed', 'Check the certificate: its name, its expiry, and that the whole chain is sent.'],
  no_such_name: ['the name does not exist', 'Check the spelling of the host and its DNS record.'],
  forbidden: [
    'address not allowed',
    'This address is blocked (private network). The operator of the service can allow it.',
  ],
  protocol: ['not an HTTP answer', 'The target does not speak HTTP, or uses the other of http and https.'],
};

/** Texts for local errors: failures of the service itself, which never count as failures of the hook. */
const localErrorTexts: Readonly<Record<string, string>> = {
  no_file_handle: 'the service had no file handle left',
  no_local_port: 'the service had no local port left',
  no_route: 'network unreachable',
  no_resolver: 'no name server answered the service',
  no_memory: 'the service had no memory left',
  process_paused: 'the service was paused',
  stopped: 'the service was stopped',
  broken: 'the service failed',
};

/** Describes the outcome of an attempt, such as `answered 500`. The outcome is empty before the first attempt. */
export function describeOutcome(outcome: string): string {
  if (outcome === '') return 'nothing sent yet';
  if (/^\d+$/.test(outcome)) return `answered ${outcome}`;
  return failureTexts[outcome]?.[0] ?? localErrorTexts[outcome] ?? outcome;
}

/** Returns advice for an outcome; undefined when there is nothing to do. */
export function getOutcomeAdvice(outcome: string): string | undefined {
  if (outcome === '200' || outcome === '') return undefined;
  const httpStatus = Number(outcome);
  if (outcome === '401') return '401 means that the receiver unsubscribed. Return 200 to keep receiving webhooks.';
  if (outcome === '404') return 'The receiver has nothing at this path. Check that the address is complete.';
  if (outcome === '429') return 'The receiver limits its rate. Answer 200 first and process the notification later.';
  if (httpStatus >= 500) return 'Server error at the receiver. Search its log for the Webhook-Id of this notification.';
  if (httpStatus >= 400) return 'The receiver rejects the notification. It must answer 200 to this POST.';
  if (httpStatus >= 300) return 'Redirects are not followed. Use the address that it redirects to.';
  if (httpStatus > 200) return 'Only 200 counts as delivered. Answer exactly 200.';
  if (localErrorTexts[outcome] !== undefined)
    return 'An error of the service: it does not count, and the attempt is repeated.';
  return failureTexts[outcome]?.[1];
}

/** Explains why a hook ended, and what the user can do about it. */
export function explainHookEnd({ ended_reason, last_outcome }: Hook): {
  readonly reason: string;
  readonly advice: string;
} {
  const explanations: Readonly<Record<EndedReason, { reason: string; advice: string }>> = {
    '': { reason: 'ended', advice: '' },
    deleted: { reason: 'deleted', advice: 'Restore it to send webhooks to its target again.' },
    answered_401: {
      reason: 'its target answered 401',
      advice:
        'The receiver unsubscribed. To receive webhooks again, let the target answer 200, then restore the webhook.',
    },
    three_failures: {
      reason: `three failures in a row, the last: ${describeOutcome(last_outcome)}`,
      advice: `${getOutcomeAdvice(last_outcome) ?? 'Repair the receiver.'} Then restore the webhook: what it missed is sent.`,
    },
    user_deleted: {
      reason: 'its owner was deleted',
      advice: 'It cannot be restored. Create another webhook to replace it.',
    },
    role_lost: {
      reason: 'its owner is no longer an admin',
      advice:
        'Only webhooks of admins can cover the whole account. An admin can create another webhook, or its owner can ' +
        'restore this one after becoming an admin again.',
    },
  };
  return explanations[ended_reason];
}

/** Formats the names of changed fields: `due_date`, as in the API, becomes `due date`. */
export function formatFieldNames(fields: readonly string[]): string {
  return fields.map((field) => field.replaceAll('_', ' ')).join(', ');
}

/** Masks the secret path of a target URL: keeps the origin, and the last four characters of a long path. */
export function maskTargetUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  if (path === '/') return url;
  return `${origin}/…${path.length >= 20 ? path.slice(-4) : ''}`;
}

/** Returns the host of a URL, or the text itself if it is not a URL. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Returns the path of a record URL below `/v2`, such as `/events/512`. */
export function recordPathOf(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/v2/') + 3);
}

/** Returns the JSON body of a webhook request. */
export function buildWebhookBody(resourceUrl: string): string {
  return JSON.stringify({ resource_url: resourceUrl });
}

/** Formats a count with its singular or plural noun: `1 hook`, `1,204 hooks`. */
export function formatCountWithNoun(count: number | string, noun: string, plural = `${noun}s`): string {
  return `${Number(count).toLocaleString('en')} ${Number(count) === 1 ? noun : plural}`;
}

/** Number of random bytes in a suggested path: 18 bytes are 144 bits, as in an API key. */
const SECRET_PATH_BYTES = 18;

/** Generates an unguessable path for a target URL. */
export function generateSecretPath(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_PATH_BYTES));
  return `/carillon/${btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')}`;
}
