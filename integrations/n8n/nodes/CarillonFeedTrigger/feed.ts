import { type IDataObject, type ITriggerFunctions, sleep } from 'n8n-workflow';
import {
  callForBody,
  callService,
  messageOf,
  type ServiceRequest,
  type ServiceResponse,
  toApiError,
} from '../parts/call';
import type { Scope } from '../parts/scope';

/** Long polling: the service holds a call open for up to this time. */
const LONG_POLL_WAIT_S = 25;
/** The timeout of a call is the long-polling wait plus this margin. */
const TIMEOUT_MARGIN_MS = 15_000;

/** First and longest wait of the exponential backoff while the service is unreachable. */
const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

/** Maximum number of entries per page of the feed. The records of a page are fetched concurrently. */
const MAX_ENTRIES_PER_PAGE = 25;

/** Filter of the feed. An empty list of kinds means all kinds. */
export type FeedFilter = { kinds: string[]; scope: Scope };

type FeedEntry = { cursor: string; kind: string; resource_url: string };
type FeedPage = { data: FeedEntry[]; next: string };

/** Fetches the cursor of the feed's current end: a workflow gets only occurrences after its first activation. */
export async function fetchEndOfFeed(context: ITriggerFunctions, scope: Scope): Promise<string> {
  const request = { method: 'GET', path: '/notifications', qs: { after: 'latest', ...scope } } as const;
  const { next } = (await callForBody(context, request)) as unknown as FeedPage;
  return next;
}

/**
 * Follows the feed by long polling until the signal is aborted. The cursor is in the workflow's static data, which n8n
 * saves whenever items are emitted. The cursor advances only after all records of a page were fetched.
 */
export async function followFeed(
  context: ITriggerFunctions,
  feedFilter: FeedFilter,
  signal: AbortSignal,
): Promise<void> {
  const { kinds, scope } = feedFilter;
  const staticData = context.getWorkflowStaticData('node');
  while (!signal.aborted) {
    const qs = { after: staticData.cursor, ...scope, wait: LONG_POLL_WAIT_S, limit: MAX_ENTRIES_PER_PAGE };
    const response = await callWithRetry(context, { method: 'GET', path: '/notifications', qs, signal });
    if (response === undefined) return;
    if (response.status === 200) {
      const { data, next } = response.body as unknown as FeedPage;
      const wantedEntries = data.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
      const items = await Promise.all(wantedEntries.map((entry) => fetchItem(context, entry, signal)));
      if (signal.aborted) return;
      staticData.cursor = next;
      const foundItems = items.filter((item) => item !== undefined);
      if (foundItems.length > 0) context.emit([context.helpers.returnJsonArray(foundItems)]);
    } else {
      // Not 200: retention has deleted entries after the cursor (X2), so continue at the current end.
      reportError(context, response);
      staticData.cursor = await fetchEndOfFeed(context, scope);
    }
  }
}

/** Fetches the item for an entry; undefined if the record was deleted since, because the deletion has its own entry. */
async function fetchItem(
  context: ITriggerFunctions,
  entry: FeedEntry,
  signal: AbortSignal,
): Promise<IDataObject | undefined> {
  if (entry.kind.startsWith('deleted_')) return { ...entry, record: null };
  // Only the path is used, so that the key is sent to the base URL and to no other host.
  const [path = ''] = /\/\w+\/\d+$/.exec(entry.resource_url) ?? [];
  const response = await callWithRetry(context, { method: 'GET', path, signal });
  return response?.status === 200 ? { ...entry, record: response.body.data as IDataObject } : undefined;
}

/**
 * Calls the service until it responds with 200, 404 or 410; undefined if the signal is aborted first. Any other error,
 * such as a revoked key, is reported once, and the call is retried: when the user corrects the credentials, the
 * workflow continues without missing an occurrence.
 */
async function callWithRetry(
  context: ITriggerFunctions,
  request: ServiceRequest,
): Promise<ServiceResponse | undefined> {
  let isReported = false;
  for (let waitMs = INITIAL_BACKOFF_MS; !request.signal?.aborted; waitMs = Math.min(2 * waitMs, MAX_BACKOFF_MS)) {
    const response = await tryCall(context, request);
    if (response !== undefined && [200, 404, 410].includes(response.status)) return response;
    if (response !== undefined && !isTemporary(response) && !isReported) {
      isReported = true;
      reportError(context, response);
    }
    if (!request.signal?.aborted) await sleep(waitMs);
  }
  return undefined;
}

async function tryCall(context: ITriggerFunctions, request: ServiceRequest): Promise<ServiceResponse | undefined> {
  try {
    return await callService(context, { ...request, timeoutMs: LONG_POLL_WAIT_S * 1_000 + TIMEOUT_MARGIN_MS });
  } catch (error) {
    if (!request.signal?.aborted)
      context.logger.warn(`The Carillon feed cannot reach the service: ${messageOf(error)}`);
    return undefined;
  }
}

/** Whether a retry may succeed without a change of the credentials. */
function isTemporary({ status }: ServiceResponse): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/**
 * Reports a failed execution; the workflow stays active. Older n8n versions and the editor only support a fatal error.
 */
function reportError(context: ITriggerFunctions, response: ServiceResponse): void {
  const error = toApiError(context, response);
  const isFatal = context.getMode() === 'manual' || typeof context.saveFailedExecution !== 'function';
  if (isFatal) context.emitError(error);
  else context.saveFailedExecution(error);
}
