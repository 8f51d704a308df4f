import type { IDataObject } from 'n8n-workflow';
import { baseUrlOf, type Context, call, refusal } from './call';
import { resourceTypes } from './table';

/** A record of the service: the plural of its resource type, and its id. */
export type Place = { plural: string; id: string };

const known = new Set([...resourceTypes.map(({ plural }) => plural), 'hooks', 'users']);

/**
 * What a `resource_url` names, if it is the address of a record of this service. Anybody can POST to a target, and the
 * key must not go anywhere else (the specification, section 5).
 */
export async function placeOf(context: Context, resourceUrl: unknown): Promise<Place | undefined> {
  const root = `${await baseUrlOf(context)}/v2/`;
  if (typeof resourceUrl !== 'string' || !resourceUrl.startsWith(root)) return undefined;
  const [, plural = '', id = ''] = /^(\w+)\/(\d+)$/.exec(resourceUrl.slice(root.length)) ?? [];
  return known.has(plural) ? { plural, id } : undefined;
}

/** The record that is there now; undefined when it was deleted since. */
export async function recordAt(context: Context, { plural, id }: Place): Promise<IDataObject | undefined> {
  const answer = await call(context, { method: 'GET', path: `/${plural}/${id}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw refusal(context, answer);
  return answer.body.data as IDataObject;
}
