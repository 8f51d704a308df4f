import { type IDataObject, type ITriggerFunctions, sleep } from 'n8n-workflow';
import { type Answer, ask, call, messageOf, type Request, refusal } from '../parts/call';

/** How long the service holds a call open while nothing happens, and how much longer a call may take. */
const WAIT_S = 25;
const MARGIN_MS = 15_000;

/** Waits before a service that was lost is asked again: doubled from the first to the longest. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** Entries in one answer; their records are fetched together. */
const MAX_ENTRIES = 25;

/** What is followed. No kind at all: every kind. */
export type Followed = { kinds: string[]; scope: string };

type Entry = { cursor: string; kind: string; resource_url: string };
type Stretch = { data: Entry[]; next: string };

/** Where the feed ends now: a workflow is told of what happens from its first activation on. */
export async function endOfFeed(context: ITriggerFunctions, scope: string): Promise<string> {
  const request = { method: 'GET', path: '/notifications', qs: { after: 'latest', scope } } as const;
  const { next } = (await ask(context, request)) as unknown as Stretch;
  return next;
}

/**
 * Follows the feed until the signal is aborted: each call is held open by the service until something happens. The
 * cursor goes into the workflow's static data, which n8n keeps whenever something is emitted; it moves only when
 * every record of a stretch is here.
 */
export async function follow(context: ITriggerFunctions, followed: Followed, signal: AbortSignal): Promise<void> {
  const { kinds, scope } = followed;
  const kept = context.getWorkflowStaticData('node');
  while (!signal.aborted) {
    const qs = { after: kept.cursor, scope, wait: WAIT_S, limit: MAX_ENTRIES };
    const answer = await patiently(context, { method: 'GET', path: '/notifications', qs, signal });
    if (answer === undefined) return;
    if (answer.status === 200) {
      const { data, next } = answer.body as unknown as Stretch;
      const told = data.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
      const items = await Promise.all(told.map((entry) => itemOf(context, entry, signal)));
      if (signal.aborted) return;
      kept.cursor = next;
      const found = items.filter((item) => item !== undefined);
      if (found.length > 0) context.emit([context.helpers.returnJsonArray(found)]);
    } else {
      // X2: what came after the cursor is not kept any more.
      report(context, answer);
      kept.cursor = await endOfFeed(context, scope);
    }
  }
}

/** What the workflow gets of an entry; nothing where the record was deleted since, which the feed says itself. */
async function itemOf(context: ITriggerFunctions, entry: Entry, signal: AbortSignal): Promise<IDataObject | undefined> {
  if (entry.kind.startsWith('deleted_')) return { ...entry, record: null };
  // The service itself has said it. Only the path is taken of it: the key goes to the base URL, whatever host is named.
  const [path = ''] = /\/\w+\/\d+$/.exec(entry.resource_url) ?? [];
  const answer = await patiently(context, { method: 'GET', path, signal });
  return answer?.status === 200 ? { ...entry, record: answer.body.data as IDataObject } : undefined;
}

/**
 * What the service answers about what is there, however long it is away; undefined when the signal was aborted first.
 * What it refuses, such as a key that was revoked, is shown once and asked again: credentials can be mended while the
 * workflow is active, and then nothing was missed.
 */
async function patiently(context: ITriggerFunctions, request: Request): Promise<Answer | undefined> {
  let isReported = false;
  for (let pauseMs = FIRST_PAUSE_MS; !request.signal?.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const answer = await attempt(context, request);
    if (answer !== undefined && [200, 404, 410].includes(answer.status)) return answer;
    if (answer !== undefined && !isPassing(answer) && !isReported) {
      isReported = true;
      report(context, answer);
    }
    if (!request.signal?.aborted) await sleep(pauseMs);
  }
  return undefined;
}

async function attempt(context: ITriggerFunctions, request: Request): Promise<Answer | undefined> {
  try {
    return await call(context, { ...request, timeoutMs: WAIT_S * 1_000 + MARGIN_MS });
  } catch (error) {
    if (!request.signal?.aborted) context.logger.warn(`The Carillon feed has lost the service: ${messageOf(error)}`);
    return undefined;
  }
}

/** What may go well a little later. */
function isPassing({ status }: Answer): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** A failed execution of a workflow that stays active. An older n8n, and the editor, know a fatal error alone. */
function report(context: ITriggerFunctions, answer: Answer): void {
  const error = refusal(context, answer);
  const isFatal = context.getMode() === 'manual' || typeof context.saveFailedExecution !== 'function';
  if (isFatal) context.emitError(error);
  else context.saveFailedExecution(error);
}
