import { hookKinds } from '../delivery/outbox/event-kinds.ts';
import { StaticResponse } from '../http/static/console-files.ts';
import { createDocsPage, type DocumentedApi } from './page.ts';
import { groupByResource } from './schema-shape.ts';

/**
 * Returns the public documents by path. Each document is rendered at its first request, because the base URL is unknown
 * before the service listens.
 */
export function createPublicDocuments(
  getDocumentedApi: () => DocumentedApi,
): Readonly<Record<string, () => StaticResponse>> {
  return {
    '/docs': memoize(() => createDocsPage(getDocumentedApi())),
    '/llms.txt': memoize(() => renderLlmsText(getDocumentedApi())),
  };
}

function memoize<T>(createValue: () => T): () => T {
  let cachedValue: T | undefined;
  return () => {
    cachedValue ??= createValue();
    return cachedValue;
  };
}

/** Renders `/llms.txt`, which describes the API to a language model that writes an integration. */
function renderLlmsText({ routes, baseUrl, version }: DocumentedApi): StaticResponse {
  const resourceSections = [...groupByResource(routes)].map(([resourceType, resourceRoutes]) =>
    [
      `## ${resourceType}`,
      '',
      ...resourceRoutes.map(({ method, path, description }) => `- ${method} /v2${path}: ${description}`),
    ].join('\n'),
  );
  const llmsText = `# Carillon ${version}

> Self-hosted project management: records over REST, notifications by webhook, in one transaction.

- Every call to ${baseUrl}/v2 carries the headers \`key\` and \`domain\`. JSON in and out.
- A hook sends kinds of occurrences to one target_url: \`event\` names one of ${hookKinds.join(', ')}; \`events\` lists any kinds of the feed, or \`*\`. Its \`scope\` is \`own\`, \`project\` or \`account\`.
- A notification is a POST of \`{"resource_url":"…"}\`; fetch that URL with your key. Respond 200 when the work is stored safely. 401 ends the hook immediately,
  three failures in a row end it. Repeated deliveries have the same \`Webhook-Id\`. Only fetch URLs below ${baseUrl}/v2.
- Missed notifications are in GET /v2/notifications, by cursor.
- Values are strings, except hours, minutes and billed of a time entry; days are written yyyymmdd; lists have at most 1000 records and 8 MiB a page: follow the Link header; errors are problem+json with a \`code\`.
- [OpenAPI 3.1](${baseUrl}/openapi.json): every route with its parameters, fields and responses
- [API documentation](${baseUrl}/docs): the same with examples

${resourceSections.join('\n\n')}
`;
  return new StaticResponse(Buffer.from(llmsText), {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
  });
}
