import { signal } from '@preact/signals';

/** A route of the console: the path segments after `#/`, and the query after `?`. */
type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

/**
 * Reads the route from the URL fragment. Browsers never send the fragment to the server, so it may contain the token
 * of an invitation.
 */
function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeSegment),
    query: new URLSearchParams(query),
  };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const currentRoute = signal<Route>(readRoute());

addEventListener('hashchange', () => {
  currentRoute.value = readRoute();
});

/** Returns the `href` of a screen or of the page of a record: `#/tasks/27`. */
export function hrefTo(...segments: readonly (string | number)[]): string {
  return `#/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;
}

export function navigate(href: string): void {
  location.hash = href;
}

/** Changes query parameters of the route without a new history entry. An empty value removes its parameter. */
export function updateQueryParams(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = currentRoute.value;
  const newQuery = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') newQuery.delete(name);
    else newQuery.set(name, value);
  }
  const queryString = newQuery.toString();
  history.replaceState(null, '', hrefTo(...path) + (queryString === '' ? '' : `?${queryString}`));
  currentRoute.value = { path, query: newQuery };
}

/** Props of a screen; `remainingPath` contains the path segments after the name of the screen. */
export type ScreenProps = { readonly remainingPath: readonly string[] };

/** Props of the page of one record; `id` comes from the path. */
export type RecordProps = { readonly id: string };
