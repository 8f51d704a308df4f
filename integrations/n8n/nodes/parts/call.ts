import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type IHttpRequestMethods,
  type ITriggerFunctions,
  type IWebhookFunctions,
  type JsonObject,
  NodeApiError,
} from 'n8n-workflow';

/** Contexts in which a node can call the service. */
export type NodeContext = IExecuteFunctions | IHookFunctions | ITriggerFunctions | IWebhookFunctions;

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
