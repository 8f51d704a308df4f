import type { StaticResponse } from '../http/static/static-response.ts';
import { llmsText } from './llms.ts';
import { type Documented, docsPage } from './page.ts';

/** The public documents by path. Rendered on first request, when the base URL is known. */
export function documents(documented: () => Documented): Readonly<Record<string, () => StaticResponse>> {
  return { '/docs': once(() => docsPage(documented())), '/llms.txt': once(() => llmsText(documented())) };
}

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}
