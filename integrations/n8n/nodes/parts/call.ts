import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type IHttpRequestMethods,
  type ILoadOptionsFunctions,
  type ITriggerFunctions,
  type IWebhookFunctions,
  type JsonObject,
  NodeApiError,
} from 'n8n-workflow';
import { kinds } from './table';

/** Contexts in which a node can call the service. */
export type NodeContext =
  | IExecuteFunctions
  | IHookFunctions
  | ILoadOptionsFunctions
  | ITriggerFunctions
  | IWebhookFunctions;

export type ServiceRequest = {
  method: IHttpRequestMethods;
  /** Path below `/v2`. */
  path: string;
  /** Query parameters. */
  qs?: IDataObject;
  body?: IDataObject;
  timeoutMs?: number;
  signal?: AbortSignal;
};

/** A response with any status. `next` is the cursor of the next page of a list, for the parameter `after`. */
export type ServiceResponse = { status: number; body: IDataObject; next?: string };

/** Returns the URL of the service, without a trailing slash. */
export async function baseUrlOf(context: NodeContext): Promise<string> {
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>('carillonApi');
  return baseUrl.trim().replace(/([^/])\/+$/, '$1');
}

/** Calls the service with the key. The key is only sent to the base URL, so redirects are not followed. */
export async function callService(context: NodeContext, request: ServiceRequest): Promise<ServiceResponse> {
  const { method, path, qs, body, timeoutMs = 30_000, signal } = request;
  const response = await context.helpers.httpRequestWithAuthentication.call(context, 'carillonApi', {
    method,
    url: `${await baseUrlOf(context)}/v2${path}`,
    json: true,
    disableFollowRedirect: true,
    ignoreHttpStatusErrors: true,
    returnFullResponse: true,
    timeout: timeoutMs,
    ...(qs === undefined ? {} : { qs }),
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  return { status: response.statusCode, body: response.body, ...nextCursorIn(response.headers) };
}

/**
 * Reads the cursor of the next page from the Link header. A page may have fewer records than its limit, so only this
 * header shows whether another page follows (C7).
 */
function nextCursorIn(headers: IDataObject | undefined): { next?: string } {
  const [, address] = /<([^<>]*)>; *rel="next"/.exec(String(headers?.link ?? '')) ?? [];
  const next = address === undefined ? null : new URL(address).searchParams.get('after');
  return next === null ? {} : { next };
}

/** Calls the service and returns the response body. Throws the service's error message unless the call succeeds. */
export async function callForBody(context: NodeContext, request: ServiceRequest): Promise<IDataObject> {
  return (await callOrThrow(context, request)).body;
}

/** Like `callForBody`, but returns the whole response, with the cursor of the next page. */
export async function callOrThrow(context: NodeContext, request: ServiceRequest): Promise<ServiceResponse> {
  const answer = await callService(context, request);
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw toApiError(context, answer);
}

/**
 * Returns the message of an error for logs. The error object must not be logged: it contains the request with the key.
 */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Converts an error response of the service to an n8n error. Its `message` names every invalid field (C6). */
export function toApiError(context: NodeContext, { status, body }: ServiceResponse): NodeApiError {
  const message = typeof body?.message === 'string' ? body.message : `The service answered ${status}.`;
  return new NodeApiError(context.getNode(), (body ?? {}) as JsonObject, { message, httpCode: String(status) });
}

/** Address of a record: the plural of its resource type, and its id. */
export type RecordAddress = { plural: string; id: string };

const knownPlurals = new Set([...kinds.map(({ plural }) => plural), 'hooks']);

/**
 * Parses a `resource_url`; undefined if it is not the address of a record of this service. Anyone can POST to a target,
 * so the key must not be sent to any other host (section 5 of the specification).
 */
export async function parseRecordUrl(context: NodeContext, resourceUrl: unknown): Promise<RecordAddress | undefined> {
  const root = `${await baseUrlOf(context)}/v2/`;
  if (typeof resourceUrl !== 'string' || !resourceUrl.startsWith(root)) return undefined;
  const [, plural = '', id = ''] = /^(\w+)\/(\d+)$/.exec(resourceUrl.slice(root.length)) ?? [];
  return knownPlurals.has(plural) ? { plural, id } : undefined;
}

/** Fetches the current record; undefined if it was deleted. */
export async function fetchRecord(
  context: NodeContext,
  { plural, id }: RecordAddress,
): Promise<IDataObject | undefined> {
  const answer = await callService(context, { method: 'GET', path: `/${plural}/${id}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw toApiError(context, answer);
  return answer.body.data as IDataObject;
}
