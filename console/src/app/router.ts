import { signal } from '@preact/signals';

/** A route of the console: the path segments after `#/`, and the query after `?`. */
export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

/**
 * Reads the route from the URL fragment. Browsers never send the fragment to the server, so it may contain the token
 * of an invitation.
 */
function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decodeSegment),
    query: new URLSearchParams(query),
  };
}

function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const currentRoute = signal<Route>(readRoute());

addEventListener('hashchange', () => {
  currentRoute.value = readRoute();
});

/** Returns the `href` of a screen or of the page of a record: `#/tasks/27`. */
export function hrefTo(...path: readonly (string | number)[]): string {
  return `#/${path.map((part) => encodeURIComponent(part)).join('/')}`;
}

export function navigate(href: string): void {
  location.hash = href;
}

/** Changes query parameters of the route without a new history entry; empty values are removed. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = currentRoute.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState(null, '', hrefTo(...path) + (text === '' ? '' : `?${text}`));
  currentRoute.value = { path, query: next };
}

/** Props of a screen; `rest` contains the path segments after the name of the screen. */
export type ScreenProps = { readonly rest: readonly string[] };

/** Props of the page of one record; `id` comes from the path. */
export type RecordProps = { readonly id: string };
