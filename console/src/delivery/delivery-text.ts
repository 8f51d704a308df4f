import type { FeedKind, HookKind } from '../../../packages/sdk/src/api-types.ts';
import type { EndedReason, Hook } from '../../../packages/sdk/src/hooks.ts';

/** For each event kind that a hook can subscribe to: a description, and the path of an example record below `/v2`. */
export const kindTexts: Readonly<Record<HookKind, { readonly description: string; readonly examplePath: string }>> = {
  new_event: { description: 'Something new stands on the calendar.', examplePath: '/events/512' },
  new_project: { description: 'A project was created.', examplePath: '/projects/27' },
  new_task: { description: 'A task was added to a project.', examplePath: '/tasks/1204' },
  completed_task: {
    description: 'A task was ticked off. Its open subtasks are told of each on their own.',
    examplePath: '/tasks/1204',
  },
  new_subtask: { description: 'A subtask was added to a task.', examplePath: '/subtasks/88' },
  completed_subtask: { description: 'A subtask was ticked off, alone or with its task.', examplePath: '/subtasks/88' },
  new_client: { description: 'A client was created.', examplePath: '/clients/9' },
};

/** Event kinds (kinds of occurrence) that a hook can subscribe to, most common first. */
export const orderedHookKinds = Object.keys(kindTexts) as HookKind[];

const VERB_BY_KIND_PREFIX = { new: 'created', changed: 'changed', deleted: 'deleted', completed: 'completed' } as const;

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
  timeout: ['no answer in time', 'Answer 200 first and work afterwards: the whole exchange has one deadline.'],
  refused: ['connection refused', 'Nothing listens there. Start the receiver, or see whether its port is right.'],
  reset: ['connection broken', 'The receiver, or something before it, closed the connection without an answer.'],
  tls: ['TLS failed', 'Look at the certificate: its name, its end, and that the whole chain is sent.'],
  no_such_name: ['the name does not exist', 'Look at the spelling of the host and at its DNS record.'],
  forbidden: [
    'address not allowed',
    'The name leads into a network that nothing may be sent to. Whoever runs the service can open it.',
  ],
  protocol: [
    'not an HTTP answer',
    'Something listens there that does not speak HTTP, or not the one the address says.',
  ],
};

/** Texts for local errors: failures of the service itself, which never count as failures of the hook. */
const localErrorTexts: Readonly<Record<string, string>> = {
  no_file_handle: 'the service had no file handle left',
  no_local_port: 'the service had no local port left',
  no_route: 'the service had no way to the network',
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
  if (outcome === '401') return '401 means: not wanted any more. Answer 200 to go on being told.';
  if (outcome === '404') return 'The receiver has nothing at this path. See whether the address is whole.';
  if (outcome === '429')
    return 'The receiver asks for fewer. Let it take the notification, answer 200, and work later.';
  if (httpStatus >= 500) return 'The receiver broke. Its log will have the Webhook-Id of the notification.';
  if (httpStatus >= 400)
    return 'The receiver refuses the notification. Let it answer 200 to a POST without authentication.';
  if (httpStatus >= 300) return 'Redirects are not followed. Subscribe the address that it leads to.';
  if (httpStatus > 200) return 'Only 200 counts as delivered. Answer exactly 200.';
  if (localErrorTexts[outcome] !== undefined)
    return 'A fault of the service: it never counts, and the attempt is made again.';
  return failureTexts[outcome]?.[1];
}

/** Explains why a hook ended, and what the user can do about it. */
export function explainHookEnd({ ended_reason, last_outcome }: Hook): {
  readonly reason: string;
  readonly advice: string;
} {
  const explanations: Readonly<Record<EndedReason, { reason: string; advice: string }>> = {
    '': { reason: 'ended', advice: '' },
    deleted: { reason: 'deleted', advice: 'Somebody unsubscribed it. Restore it if that was a mistake.' },
    answered_401: {
      reason: 'its target answered 401',
      advice: 'That means: not wanted any more. If it is wanted, let the target answer 200, then restore the hook.',
    },
    three_failures: {
      reason: `three failures in a row, the last: ${describeOutcome(last_outcome)}`,
      advice: `${getOutcomeAdvice(last_outcome) ?? 'Repair the receiver.'} Then restore the hook: it is sent what it missed.`,
    },
    user_deleted: {
      reason: 'its user was deleted',
      advice: 'It cannot live again. Whoever needs it subscribes a hook of their own.',
    },
  };
  return explanations[ended_reason];
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
