import type { StaticResponse } from '../http/static/static-response.ts';
import { llmsText } from './llms.ts';
import { type Documented, docsPage } from './page.ts';

/** What is to be read at an address of the service; written when it is asked for first, since the address is known then. */
export function documents(documented: () => Documented): Readonly<Record<string, () => StaticResponse>> {
  return { '/docs': once(() => docsPage(documented())), '/llms.txt': once(() => llmsText(documented())) };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
