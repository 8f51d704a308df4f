import { hookKinds } from '../delivery/outbox/event-kinds.ts';
import { StaticResponse } from '../http/static/console-files.ts';
import { createDocsPage, type DocumentedApi } from './page.ts';
import { groupByResource } from './schema-shape.ts';

/** The public documents by path. Each one is rendered on its first request, when the base URL is known. */
export function publicDocuments(documented: () => DocumentedApi): Readonly<Record<string, () => StaticResponse>> {
  return { '/docs': lazy(() => createDocsPage(documented())), '/llms.txt': lazy(() => renderLlmsText(documented())) };
}

function lazy<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

/** Renders `/llms.txt`, which describes the API to a language model that writes an integration. */
function renderLlmsText({ routes, baseUrl, version }: DocumentedApi): StaticResponse {
  const resourceTypes = [...groupByResource(routes)].map(([resourceType, rows]) =>
    [
      `## ${resourceType}`,
      '',
      ...rows.map(({ method, path, description }) => `- ${method} /v2${path}: ${description}`),
    ].join('\n'),
  );
  const text = `# Carillon ${version}

> Self-hosted project management: records over REST, notifications by webhook, in one transaction.

- Every call to ${baseUrl}/v2 carries the headers \`key\` and \`domain\`. JSON in and out.
- A hook is one target_url and one kind: ${hookKinds.join(', ')}.
- A notification is a POST of \`{"resource_url":"…"}\`; fetch that URL with your key. Respond 200 when the work is stored safely. 401 ends the hook immediately,
  three failures in a row end it. Repeated deliveries have the same \`Webhook-Id\`. Only fetch URLs below ${baseUrl}/v2.
- Missed notifications are in GET /v2/notifications, by cursor.
- Values are strings, except hours, minutes and billed of a time entry; days are written yyyymmdd; lists have at most 1000 records and 8 MiB a page: follow the Link header; errors are problem+json with a \`code\`.
- [OpenAPI 3.1](${baseUrl}/openapi.json): every route with its parameters, fields and responses
- [API documentation](${baseUrl}/docs): the same with examples

${resourceTypes.join('\n\n')}
`;
  return new StaticResponse(Buffer.from(text), {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
  });
}
