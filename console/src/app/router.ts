import { signal } from '@preact/signals';

/** Where somebody is: the parts of the path behind `#/`, and what follows a question mark. */
export type Place = { readonly path: readonly string[]; readonly query: URLSearchParams };

/** The part behind the # is never sent to the service, so it may hold the token of a link. */
function read(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: new URLSearchParams(query),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal<Place>(read());

addEventListener('hashchange', () => {
  place.value = read();
});

/** The address of a screen, for a link. */
export function to(...path: readonly (string | number)[]): string {
  return `#/${path.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** Goes to a screen. */
export function go(address: string): void {
  location.hash = address;
}

/** Changes what follows the question mark without a step in the history. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = place.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState(null, '', to(...path) + (text === '' ? '' : `?${text}`));
  place.value = { path, query: next };
}

/** What a screen is given: the parts of its address behind its name. */
export type ScreenProps = { readonly rest: readonly string[] };

/** What the page of one record is given: what stands in its address for which one. */
export type RecordProps = { readonly id: string };
