import type {
  AfterResponseMiddleware,
  Authentication,
  BeforeRequestMiddleware,
  Bundle,
  ZObject,
} from 'zapier-platform-core';

/** Retry delay after 429 or 503 without Retry-After, in seconds. */
const RETRY_DELAY_S = 60;

/** Returns the URL prefix of every API call; throws if the base URL is invalid. */
export function apiRootOf(z: ZObject, { authData }: Bundle): string {
  const url = URL.parse(String(authData.baseUrl).trim());
  const isPlain = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new z.errors.Error(
      'The base URL is an http or https address such as https://calendar.example.com.',
      'base_url',
    );
  }
  return `${url.href.replace(/([^/])\/+$/, '$1')}/v2`;
}

/** Adds the key to requests to the service, and to no other host. Redirects are not followed. */
export const addKey: BeforeRequestMiddleware = (request, z, bundle) => {
  if (!z || !bundle) return request;
  if (!String(request.url).startsWith(`${apiRootOf(z, bundle)}/`)) {
    throw new z.errors.Error('This is not an address of the service.', 'foreign_address');
  }
  const { apiKey, domain } = bundle.authData;
  return {
    ...request,
    redirect: 'manual',
    skipThrowForStatus: true,
    headers: { ...request.headers, key: String(apiKey), domain: String(domain) },
  };
};

/** Request option: the caller handles these statuses itself, so they do not throw an error. */
export const expectStatuses = (...statuses: number[]) => ({ middlewareData: { expected: statuses } });

/** Throws the service's error message unless the call succeeds. The message names every invalid field (C6). */
export const requireSuccess: AfterResponseMiddleware = (response, z) => {
  const { status, request } = response;
  const isExpected = ((request.middlewareData?.expected ?? []) as number[]).includes(status);
  if ((status >= 200 && status < 300) || isExpected) return response;
  const { code = 'unexpected_answer', message = `The service answered ${status}.` } = parseProblem(response.content);
  if (code === 'unauthorized') throw new z.errors.ExpiredAuthError(message);
  if (status === 429 || status === 503) {
    throw new z.errors.ThrottledError(message, Number(response.getHeader('retry-after')) || RETRY_DELAY_S);
  }
  throw new z.errors.Error(message, code, status);
};

function parseProblem(content: string): { code?: string; message?: string } {
  try {
    return Object(JSON.parse(content));
  } catch {
    return {};
  }
}

export const authentication: Authentication = {
  type: 'custom',
  fields: [
    {
      key: 'baseUrl',
      label: 'Base URL',
      type: 'string',
      required: true,
      placeholder: 'https://calendar.example.com',
      helpText: 'The address of your Carillon, exactly as its option --base-url says: notifications begin with it.',
    },
    { key: 'domain', label: 'Domain', type: 'string', required: true, helpText: 'The host name of your account.' },
    {
      key: 'apiKey',
      label: 'API Key',
      type: 'password',
      required: true,
      helpText: 'Of one user, with hooks:read and hooks:write beside the permission to read the records.',
    },
  ],
  test: async (z, bundle) => (await z.request(`${apiRootOf(z, bundle)}/user`)).data.data,
  connectionLabel: '{{user_name}} ({{domain}})',
};
