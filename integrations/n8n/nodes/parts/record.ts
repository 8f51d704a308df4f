import type { IDataObject } from 'n8n-workflow';
import { baseUrlOf, type Context, call, refusal } from './call';
import { resourceTypes } from './table';

/** Address of a record: the plural of its resource type, and its id. */
export type Place = { plural: string; id: string };

const knownPlurals = new Set([...resourceTypes.map(({ plural }) => plural), 'hooks', 'users']);

/**
 * Parses a `resource_url`; undefined if it is not the address of a record of this service. Anyone can POST to a target,
 * so the key must not be sent to any other host (section 5 of the specification).
 */
export async function placeOf(context: Context, resourceUrl: unknown): Promise<Place | undefined> {
  const root = `${await baseUrlOf(context)}/v2/`;
  if (typeof resourceUrl !== 'string' || !resourceUrl.startsWith(root)) return undefined;
  const [, plural = '', id = ''] = /^(\w+)\/(\d+)$/.exec(resourceUrl.slice(root.length)) ?? [];
  return knownPlurals.has(plural) ? { plural, id } : undefined;
}

/** Fetches the current record; undefined if it was deleted. */
export async function recordAt(context: Context, { plural, id }: Place): Promise<IDataObject | undefined> {
  const answer = await call(context, { method: 'GET', path: `/${plural}/${id}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw refusal(context, answer);
  return answer.body.data as IDataObject;
}
