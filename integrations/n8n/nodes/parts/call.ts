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

/** From where a node can call the service. */
export type Context = IExecuteFunctions | IHookFunctions | ITriggerFunctions | IWebhookFunctions;

export type Request = {
  method: IHttpRequestMethods;
  /** Below `/v2`. */
  path: string;
  qs?: IDataObject;
  body?: IDataObject;
  timeoutMs?: number;
  signal?: AbortSignal;
};

/** What the service answered, whatever its status. `next`: what the next page of a list begins `after`. */
export type Answer = { status: number; body: IDataObject; next?: string };

/** The address of the service, without a slash at its end. */
export async function baseUrlOf(context: Context): Promise<string> {
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>('carillonApi');
  return baseUrl.trim().replace(/([^/])\/+$/, '$1');
}

/** One call with the key, which goes to the base URL and nowhere else: no redirect is followed. */
export async function call(context: Context, request: Request): Promise<Answer> {
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
  return { status: response.statusCode, body: response.body, ...nextIn(response.headers) };
}

/** C7: a page may have fewer records than its limit, so that its Link alone says whether another one follows. */
function nextIn(headers: IDataObject | undefined): { next?: string } {
  const [, address] = /<([^<>]*)>; *rel="next"/.exec(String(headers?.link ?? '')) ?? [];
  const next = address === undefined ? null : new URL(address).searchParams.get('after');
  return next === null ? {} : { next };
}

/** The same where only success will do; a refusal is told in the service's own words. */
export async function ask(context: Context, request: Request): Promise<IDataObject> {
  return (await answered(context, request)).body;
}

/** The same, with what is said of the next page. */
export async function answered(context: Context, request: Request): Promise<Answer> {
  const answer = await call(context, request);
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw refusal(context, answer);
}

/** What went wrong, for a log: the error itself holds the request, and so the key. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What the service has refused, as n8n shows errors. C6: `message` names every bad field. */
export function refusal(context: Context, { status, body }: Answer): NodeApiError {
  const message = typeof body?.message === 'string' ? body.message : `The service answered ${status}.`;
  return new NodeApiError(context.getNode(), (body ?? {}) as JsonObject, { message, httpCode: String(status) });
}
