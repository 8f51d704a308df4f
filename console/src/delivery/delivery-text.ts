import type { FeedKind, HookKind } from '../../../packages/sdk/src/api-types.ts';
import type { EndedReason, Hook } from '../../../packages/sdk/src/hooks.ts';

/** Description of each kind that a hook can subscribe to, with an example path of a record. */
export const kindTexts: Readonly<Record<HookKind, { readonly description: string; readonly example: string }>> = {
  new_event: { description: 'Something new stands on the calendar.', example: '/events/512' },
  new_project: { description: 'A project was created.', example: '/projects/27' },
  new_task: { description: 'A task was added to a project.', example: '/tasks/1204' },
  completed_task: {
    description: 'A task was ticked off. Its open subtasks are told of each on their own.',
    example: '/tasks/1204',
  },
  new_subtask: { description: 'A subtask was added to a task.', example: '/subtasks/88' },
  completed_subtask: { description: 'A subtask was ticked off, alone or with its task.', example: '/subtasks/88' },
  new_client: { description: 'A client was created.', example: '/clients/9' },
};

/** Kinds that a hook can subscribe to, most common first. */
export const hookKinds = Object.keys(kindTexts) as HookKind[];

const VERBS = { new: 'created', changed: 'changed', deleted: 'deleted', completed: 'completed' } as const;

/** Splits a kind into resource type and verb: `new_event` gives `event` and `created`. */
export function splitKind(kind: string): { readonly resourceType: string; readonly verb: string } {
  const [first = '', ...rest] = kind.split('_');
  const resourceType = rest.length === 0 ? kind : rest.join(' ');
  return { resourceType, verb: Object.entries(VERBS).find(([name]) => name === first)?.[1] ?? '' };
}

/** Returns the display name of a kind, such as `Event created`. */
export function kindTitle(kind: FeedKind | 'test'): string {
  const { resourceType, verb } = splitKind(kind);
  return `${resourceType.charAt(0).toUpperCase()}${resourceType.slice(1)} ${verb}`.trim();
}

/** Texts for outcomes without an HTTP status: a description, and advice for the operator of the target. */
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

/** Texts for local errors: failures on the side of the service, which never count against the target. */
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

/** Describes an outcome, such as `answered 500`. The outcome is empty before the first attempt. */
export function describeOutcome(outcome: string): string {
  if (outcome === '') return 'nothing sent yet';
  if (/^\d+$/.test(outcome)) return `answered ${outcome}`;
  return failureTexts[outcome]?.[0] ?? localErrorTexts[outcome] ?? outcome;
}

/** Returns advice for an outcome; undefined when there is nothing to do. */
export function outcomeAdvice(outcome: string): string | undefined {
  if (outcome === '200' || outcome === '') return undefined;
  const status = Number(outcome);
  if (outcome === '401') return '401 means: not wanted any more. Answer 200 to go on being told.';
  if (outcome === '404') return 'The receiver has nothing at this path. See whether the address is whole.';
  if (outcome === '429')
    return 'The receiver asks for fewer. Let it take the notification, answer 200, and work later.';
  if (status >= 500) return 'The receiver broke. Its log will have the Webhook-Id of the notification.';
  if (status >= 400)
    return 'The receiver refuses the notification. Let it answer 200 to a POST without authentication.';
  if (status >= 300) return 'Redirects are not followed. Subscribe the address that it leads to.';
  if (status > 200) return 'Only 200 counts as delivered. Answer exactly 200.';
  if (localErrorTexts[outcome] !== undefined)
    return 'A fault of the service: it never counts, and the attempt is made again.';
  return failureTexts[outcome]?.[1];
}

/** Explains why a hook ended, and what the user can do about it. */
export function explainEnd({ ended_reason, last_outcome }: Hook): { readonly why: string; readonly todo: string } {
  const known: Readonly<Record<EndedReason, { why: string; todo: string }>> = {
    '': { why: 'ended', todo: '' },
    deleted: { why: 'deleted', todo: 'Somebody unsubscribed it. Restore it if that was a mistake.' },
    answered_401: {
      why: 'its target answered 401',
      todo: 'That means: not wanted any more. If it is wanted, let the target answer 200, then restore the hook.',
    },
    three_failures: {
      why: `three failures in a row, the last: ${describeOutcome(last_outcome)}`,
      todo: `${outcomeAdvice(last_outcome) ?? 'Repair the receiver.'} Then restore the hook: it is sent what it missed.`,
    },
    user_deleted: {
      why: 'its user was deleted',
      todo: 'It cannot live again. Whoever needs it subscribes a hook of their own.',
    },
  };
  return known[ended_reason];
}

/** Masks the path of a target URL: keeps the origin and, of a long path, the last four characters. */
export function maskTarget(address: string): string {
  if (!URL.canParse(address)) return address;
  const { origin, pathname, search } = new URL(address);
  const path = pathname + search;
  if (path === '/') return address;
  return `${origin}/…${path.length >= 20 ? path.slice(-4) : ''}`;
}

/** Returns the host of a URL, or the text itself if it is not a URL. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** Returns the path of a record URL below `/v2`, such as `/events/512`. */
export function recordPathOf(resourceUrl: string): string {
  return resourceUrl.slice(resourceUrl.lastIndexOf('/v2/') + 3);
}

/** Returns the JSON body of a webhook request. */
export function webhookBody(resourceUrl: string): string {
  return JSON.stringify({ resource_url: resourceUrl });
}

/** Formats a count with its singular or plural noun: `1 hook`, `1,204 hooks`. */
export function formatCount(count: number | string, noun: string, plural = `${noun}s`): string {
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
